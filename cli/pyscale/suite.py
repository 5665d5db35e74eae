"""A suite: the stages that a run measures, and what feeds each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from pyscale.errors import UserError
from pyscale.tomlfile import file_of, read_toml, shipped_names
from pyscale_stages.contract import Device, GpuSharing, Record
from pyscale_stages.errors import StageError
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import did_you_mean

Layout = Literal["array", "gang"]
"""An array of independent tasks, or one allocation with a rank for each worker."""
MOVIE = "movie"
"""The name by which a suite calls the dataset itself."""
GridValue = bool | int | float | str
"""A value of an axis of a grid; "full" stands for None, "all" for every core of a worker's node."""


class SuiteStage(Record):
    """One stage of a suite."""

    stage: str | None = Field(None, description="Stage that runs; None is the entry's own name")
    inputs: dict[str, str] = Field(description='Slot -> "movie" or the name of an earlier entry')
    params: dict[str, JsonValue] = Field(default_factory=dict, description="Stage parameters")
    layout: Layout = Field(
        "array", description="How a cluster starts its workers: each by itself, or all at once"
    )
    truth: Literal["camera", "specimen"] | None = Field(
        None, description="Coordinates in which a synthetic movie's truth fits this output"
    )
    device: Device | None = Field(None, description="Where it computes; None is the run's choice")
    threads: int | None = Field(
        None, ge=1, description="Cores and threads of each worker; None is the run's choice"
    )
    gpu_sharing: GpuSharing = Field("own", description="How workers share the GPUs of a node")
    grid: dict[str, tuple[GridValue, ...]] = Field(
        default_factory=dict,
        description="Values of stage parameters, or of device, threads and gpu_sharing, of which "
        "every combination is measured",
    )
    family: str | None = Field(
        None, description="Entry with a grid that this one is a point of; filled by `unfolded`"
    )
    point: dict[str, GridValue] = Field(
        default_factory=dict, description="Its place in that grid; filled by `unfolded`"
    )
    beside: str | None = Field(
        None,
        description="Entry whose output its own is set beside, without a verdict: the same point "
        "but for the first value of `versus`; filled by `unfolded`",
    )


class Suite(Record):
    """A named set of stages, in the order of the pipeline."""

    name: str
    summary: str = Field(description="What the suite measures, in a line")
    data: Literal["movie", "labels"] = Field(
        "movie", description="What the dataset must hold: frames of a movie, or labels of one"
    )
    settings: dict[str, JsonValue] = Field(
        default_factory=dict, description="Settings that suit it, where nobody gives others"
    )
    frames_per_worker: int | None = Field(
        None, ge=1, description="Frames of each worker at every N; None follows --scaling"
    )
    versus: str | None = Field(
        None, description="Axis of its grid whose other values are compared with the first"
    )
    against: str | None = Field(None, description="Axis of its grid that results are drawn against")
    stages: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]+$")], SuiteStage]

    def stage_name(self, entry: str) -> str:
        """Name of the stage that an entry runs."""
        return self.stages[entry].stage or entry


def suite_names() -> list[str]:
    """Names of the shipped suites."""
    return shipped_names("suite")


def load_suite(name_or_path: str) -> Suite:
    """Read a shipped suite by name, or a suite of the user's own by path.

    Raises
    ------
    UserError
        If there is no such suite, or its file is wrong.
    """
    path = file_of("suite", name_or_path)
    suite = read_toml("suite", path, Suite)
    _check_inputs(suite, path)
    return suite


def _check_inputs(suite: Suite, path: Path) -> None:
    earlier = [MOVIE]
    for entry, step in suite.stages.items():
        try:
            slots = {slot.name: slot for slot in load_stage(suite.stage_name(entry)).inputs}
        except StageError as error:
            raise UserError(f"the suite {path} is wrong at stages.{entry}: {error}") from error
        for fed, source in step.inputs.items():
            if fed not in slots:
                raise UserError(
                    f"the suite {path} feeds an unknown input {fed!r} of stages.{entry}; "
                    f"{did_you_mean(fed, slots)}"
                )
            if source not in earlier:
                raise UserError(
                    f"the suite {path} feeds stages.{entry} from {source!r}, which is not an "
                    f"earlier entry; {did_you_mean(source, earlier)}"
                )
        for name, slot in slots.items():
            if slot.required and name not in step.inputs:
                raise UserError(
                    f"the suite {path} gives stages.{entry} no input {name!r} ({slot.help})"
                )
        earlier.append(entry)
