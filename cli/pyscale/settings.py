"""Settings in layers: built-in < config/ < suite < pyscale.toml < environment < flags."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from platformdirs import user_cache_path, user_data_path
from pydantic import Field, JsonValue, ValidationError, field_serializer, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from pyscale.analysis.spending import Prices
from pyscale.errors import UserError
from pyscale.planning.suite import GridValue
from pyscale.resources import shipped
from pyscale.tomlfile import parsed
from pyscale.wording import percent_of, seconds_of
from pyscale_stages.contract import Device
from pyscale_stages.wording import did_you_mean, first_problem

USER_FILE = "pyscale.toml"
ENVIRONMENT_PREFIX = "PYSCALE_"
DEFAULTS = "defaults.toml of pyscale"
SET = ("chunks_per_worker", "keep_outputs", "path", "retries", "seed", "unlocked_images")
"""Settings of a run without a flag of their own, which `--set NAME=VALUE` gives."""
FLAG, ENVIRONMENT = "a flag", "the environment"
"""Layers whose values are named one by one."""


def without_login(address: str) -> str:
    """An address without the name and password in it; any other text as it is."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@", r"\1", address)


class SuiteLayer(NamedTuple):
    """Settings that suit a suite, and its file."""

    path: Path
    values: dict[str, JsonValue]


class Settings(BaseSettings):
    """Everything about a run that is not the suite itself."""

    _suite: ClassVar[SuiteLayer | None] = None
    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        frozen=True,
        extra="forbid",
        env_nested_delimiter="__",
        validate_default=True,
    )

    data: str = Field("cancer-migration", description="Dataset name, or a path of your own")
    truth: Path | None = Field(
        None, description="Truth of the movie, to judge outputs by; None is what the data bring"
    )
    path: Path | None = Field(
        None,
        description="Folder whose storage is measured by a suite of the machine itself; None is "
        "that of the runs",
    )
    with_system: bool = Field(
        False, description="Whether to measure too, in brief, what the node can do"
    )
    axes: str | None = Field(
        None, description="Axes of the movie, like TYX, where its file has none or wrong ones"
    )
    series: int | None = Field(None, description="Image of a file with several, from 0")
    level: str | None = Field(None, description="Resolution level of an OME-Zarr, from 0")
    frames: str | None = Field(
        None, description="Frames that are the movie: A:B, or K for the first ones"
    )
    channel: str | None = Field(
        None, description="The only channel that is read, by number or name"
    )
    plane: int | None = Field(None, description="The only plane of a Z-stack, from 0")
    project: Literal["max", "mean"] | None = Field(
        None, description="What becomes of the planes of a Z-stack"
    )
    pattern: str | None = Field(
        None, description="Names of the files of a folder that are frames, like img_*.tif"
    )
    workers: Annotated[tuple[int, ...] | None, NoDecode] = Field(
        None, description="Worker counts N; None is 1, 2, 4 … up to what this machine has"
    )
    scaling: Literal["strong", "weak"] = Field(
        "strong",
        description="What N workers share: the whole movie (strong), or as many frames for each "
        "worker at every N (weak)",
    )
    repeats: int = Field(6, ge=1, description="Trials of each configuration; 6 give an interval")
    at_most: str | None = Field(
        None, description="Time for trials, as in 5min, in place of repeats: blocks as they fit"
    )
    until: str | None = Field(
        None,
        description="How narrow 95 % intervals of speedups get before that time is over, as in 5%",
    )
    executor: Literal["local", "slurm", "job"] = Field(
        "local",
        description="Where tasks run: here, on Slurm's nodes, or in one job of a site",
    )
    runtime: Literal["native", "apptainer"] = Field(
        "native", description="How a task's process is started: in this environment, or in images"
    )
    device: Device = Field("cpu", description="Where stages that can use it compute")
    cache: Literal["cold", "warm", "asis"] = Field(
        "cold", description="State of the page cache that each trial's inputs are brought to"
    )
    cpus_per_worker: int = Field(1, ge=1, description="Cores and threads of each worker")
    chunks_per_worker: int = Field(
        1, ge=1, description="Windows of each worker; more than one evens out their loads"
    )
    retries: int = Field(1, ge=0, description="How often a failed trial is tried again")
    seed: int = Field(0, ge=0, description="Seed of the order of trials and of every stage")
    keep_outputs: Literal["reference", "all"] = Field(
        "reference", description="Outputs to keep: the baseline's alone, or all"
    )
    runs_folder: Path = Field(Path("runs"), description="Folder that holds the runs")
    data_folder: Path = Field(
        user_cache_path("pyscale") / "data", description="Folder that holds datasets"
    )
    mirror: str | None = Field(
        None, description="Address or folder to fetch from: {mirror}/{dataset}/{file}"
    )
    images_folder: Path = Field(
        user_cache_path("pyscale") / "images", description="Folder that holds images"
    )
    references_folder: Path = Field(
        user_data_path("pyscale") / "references", description="Folder of your own references"
    )
    images: dict[str, str] = Field(
        {},
        description="Image of an entry or stage, where its own is not meant",
        examples=[{"segment": "segment-cuda.sif"}],
    )
    site: str = Field("plain", description="Cluster that jobs are for: a name, or its .toml")
    prices: Prices = Field(
        Prices(),
        description="What an hour of a core or a GPU of this machine costs, and the currency",
        examples=[{"core_hour": 0.02, "gpu_hour": 1.5, "currency": "EUR"}],
    )
    keep_diversity: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the most diverse loading of patches that the advised one keeps; read "
        "when a report is written",
    )
    unlocked_images: bool = Field(
        False, description="Run images even where they differ from images.lock"
    )
    stages: dict[str, dict[str, JsonValue]] = Field(
        {},
        description="Stage parameters that replace the suite's, by stage",
        examples=[{"segment": {"diameter_px": 30.0}}],
    )
    tolerance: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        {},
        description="Smallest agreement with the baseline that counts as the same, by stage, in "
        "place of the stage's own",
        examples=[{"segment": 0.99}],
    )
    grid: dict[str, tuple[GridValue, ...]] = Field(
        {},
        description="Values of the axes of a suite's grid, in place of its",
        examples=[{"size_px": [224, 448]}],
    )

    @field_serializer("mirror")
    def _without_login(self, value: str | None) -> str | None:
        # What is written or shown must not hold a password.
        return None if value is None else without_login(value)

    @field_validator("level", "frames", "channel", mode="before")
    @classmethod
    def _numbers_too(cls, value: object) -> object:
        """Accept a number, which TOML has without quotes."""
        return str(value) if isinstance(value, int) else value

    @field_validator("at_most")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        if value is not None:
            seconds_of(value)
        return value

    @field_validator("until")
    @classmethod
    def _is_a_share(cls, value: str | None) -> str | None:
        if value is not None:
            percent_of(value)
        return value

    @field_validator("workers", mode="before")
    @classmethod
    def _split_workers(cls, value: object) -> object:
        """Accept "1,2,4" as flags and the environment give it."""
        if isinstance(value, str):
            parts = [part.strip() for part in value.split(",") if part.strip()]
            if not all(part.isdigit() for part in parts):
                raise ValueError("worker counts are whole numbers with commas between, as in 1,2,4")
            return tuple(int(part) for part in parts)
        return value

    @field_validator("grid", mode="before")
    @classmethod
    def _split_axes(cls, value: object) -> object:
        """Accept "224,448,full" for the values of an axis, as flags give them, and one alone."""
        if not isinstance(value, Mapping):
            return value
        return {axis: _axis_values(given) for axis, given in value.items()}

    @field_validator("grid")
    @classmethod
    def _each_value_once(
        cls, value: dict[str, tuple[GridValue, ...]]
    ) -> dict[str, tuple[GridValue, ...]]:
        for axis, values in value.items():
            if not values or "" in values or len(set(values)) < len(values):
                raise ValueError(
                    f"{axis} needs values with commas between, each given once, as in 224,448,full"
                )
        return value

    @field_validator("runs_folder", "data_folder", "images_folder", "references_folder")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()

    @field_validator("workers")
    @classmethod
    def _order_workers(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and (not value or min(value) < 1 or len(set(value)) != len(value)):
            raise ValueError("worker counts are positive and each is given once, as in 1,2,4")
        return tuple(sorted(value)) if value else value

    @classmethod
    def settings_customise_sources(
        cls, *_args: Any, **sources: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the layers, strongest first."""
        layers = reversed(_layers(cls._suite))
        return (sources["init_settings"], *(source for _, source in layers))


def flag_of(name: str) -> str:
    """What on the command line of a run says a setting."""
    return f"--set {name}" if name in SET else f"--{name.replace('_', '-')}"


def settings_files() -> tuple[Path, Path]:
    """The user's file and the committed defaults, strongest first."""
    return Path(USER_FILE), shipped("config") / "defaults.toml"


def load_settings(suite: SuiteLayer | None = None, **flags: Any) -> Settings:
    """Settings with the given flags over all other layers; a flag that is None was not given."""
    given = {name: value for name, value in flags.items() if value is not None}
    _refuse_misspelt_variables()
    for path in filter(Path.exists, settings_files()):
        try:
            parsed(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read as TOML: {error}") from error
    unknown = [key for key in suite.values if key not in Settings.model_fields] if suite else []
    if suite and unknown:
        raise UserError(
            f"the suite {suite.path} has an unknown setting {unknown[0]!r}; "
            f"{did_you_mean(unknown[0], Settings.model_fields)}"
        )
    try:
        return (_suited(suite) if suite else Settings)(**given)
    except SettingsError as error:
        # Of a variable whose value is a table: pydantic names the setting, and not the variable.
        name = next(name for name in Settings.model_fields if f'"{name}"' in str(error))
        raise UserError(
            f"the setting from {_named(ENVIRONMENT, name)} is wrong: it must be JSON, as in "
            '{"name": 1}'
        ) from error
    except ValidationError as error:
        key = str(error.errors(include_url=False)[0]["loc"][0])
        origin = value_origins(given, suite).get(key, "built-in")
        raise UserError(
            f"the setting from {origin} is wrong: {first_problem(error, Settings)}"
        ) from (error)


def value_origins(flags: dict[str, Any], suite: SuiteLayer | None = None) -> dict[str, str]:
    """What each setting's value comes from; those that are built in are absent."""
    layers = [*_layers(suite), (FLAG, InitSettingsSource(Settings, flags))]
    return {key: _named(name, key) for name, source in layers for key in source()}


def users_own(flags: dict[str, Any]) -> set[str]:
    """Settings that the user gives, in a file, a variable or a flag."""
    origins = value_origins(flags)
    return {key for key, origin in origins.items() if origin != DEFAULTS}


def _layers(suite: SuiteLayer | None) -> list[tuple[str, PydanticBaseSettingsSource]]:
    """Name of each layer below the flags and what reads it, the weakest first."""
    user_file, defaults_file = settings_files()
    return [
        (DEFAULTS, TomlConfigSettingsSource(Settings, defaults_file)),
        *(
            [(f"the suite {suite.path}", InitSettingsSource(Settings, suite.values))]
            if suite
            else []
        ),
        (str(user_file), TomlConfigSettingsSource(Settings, user_file)),
        (ENVIRONMENT, EnvSettingsSource(Settings)),
    ]


def _suited(suite: SuiteLayer) -> type[Settings]:
    """Settings with those that suit a suite above the committed defaults."""

    class Suited(Settings):
        _suite: ClassVar[SuiteLayer | None] = suite

    return Suited


def _axis_values(given: object) -> object:
    """Values of an axis, of which flags give a text and a file may give a single one."""
    if isinstance(given, str):
        return [_axis_value(part.strip()) for part in given.split(",")]
    return given if isinstance(given, list | tuple) else [given]


def _axis_value(text: str) -> GridValue:
    """A number or a truth value, where the text is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) and math.isfinite(value) else text


def _named(layer: str, key: str) -> str:
    """What a user wrote or set to give a setting in a layer."""
    if layer == FLAG:
        return flag_of(key)
    return f"{ENVIRONMENT_PREFIX}{key.upper()}" if layer == ENVIRONMENT else layer


def _refuse_misspelt_variables() -> None:
    """Refuse a variable that is nearly a setting."""
    known = [f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in Settings.model_fields]
    for variable in os.environ:
        if variable.startswith(ENVIRONMENT_PREFIX) and variable.partition("__")[0] not in known:
            # Stages and tests have variables of their own, so others pass.
            near = get_close_matches(variable, known, n=1, cutoff=0.85)
            if near:
                raise UserError(
                    f"unknown setting {variable} in the environment: did you mean {near[0]}?"
                )
