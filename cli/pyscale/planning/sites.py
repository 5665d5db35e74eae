"""A site: one cluster's job options, and what its nodes offer."""

from __future__ import annotations

import math
import re
import string
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from pyscale.analysis.spending import Prices
from pyscale.tomlfile import file_of, read_toml
from pyscale_stages.contract import Device, Record
from pyscale_stages.registry import stage_names
from pyscale_stages.wording import did_you_mean


def _written_as(pattern: str, otherwise: str) -> AfterValidator:
    """Refuse with a sentence what a pattern does not match."""

    def refuse(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(otherwise)
        return value

    return AfterValidator(refuse)


# A word of a directive, a path in double quotes, a line of shell: none of them spans lines.
Line = Annotated[str, _written_as(r"[^\n\r\0]+", "it must be one line")]
Word = Annotated[
    str, _written_as(r"[^\s\"'`$\\]+", "it must be one word without quotes, $ and backslashes")
]
InQuotes = Annotated[
    str, _written_as(r'[^\n"`\\]+', "it must be one line without double quotes, ` and backslashes")
]
Option = Annotated[
    str,
    _written_as(
        r"--[a-z][a-z-]*(=[^\s\"'`\\\0]+)?",
        "it must be a long option of sbatch, without blanks and quotes, e.g. --reservation=spring",
    ),
]

MOST = 10_000_000
"""Of GiB, minutes or anything else that a task is asked for: no cluster has more."""
Count = Annotated[int, Field(ge=1, le=MOST)]
Amount = Annotated[float, Field(gt=0, le=MOST, allow_inf_nan=False)]
SAID_ELSEWHERE = {"time": "time_min", "cpus-per-task": "cpus"}
"""Options of sbatch that a field of a request asks for, and that field."""
SET_BY_PYSCALE = {
    *("array", "error", "job-name", "no-requeue", "nodes", "ntasks", "open-mode"),
    *("output", "requeue", "signal", "test-only", "wait", "wrap"),
}
"""Options of sbatch by which pyscale finds its jobs, or that would change what it measures."""
OF_A_NODE = {"gres", "gpus", "gpus-per-node", "gpus-per-socket", "mem", "mem-per-gpu"}
"""Options of sbatch that Slurm does not multiply by the tasks of a job."""
OF_AN_OPTION = {"gpus", "memory_mib_per_core"}
"""What an option of sbatch may name of one task."""


def _naming(names: set[str]) -> AfterValidator:
    """Refuse a text whose braces hold anything but these names."""

    def refuse(value: str) -> str:
        try:
            parts = list(string.Formatter().parse(value))
        except ValueError as error:
            raise ValueError(f"{value!r} is wrong: {error}") from error
        named = {name for _, name, _, _ in parts if name is not None}
        if not named <= names or any(width or conversion for _, _, width, conversion in parts):
            listed = ", ".join(f"{{{name}}}" for name in sorted(names))
            raise ValueError(f"{value!r} may only name {listed}")
        return value

    return AfterValidator(refuse)


def parts_of(option: str) -> tuple[str, str | None]:
    """An option's name and value; None is the value of one that takes none."""
    name, equals, value = option.removeprefix("--").partition("=")
    return name, value if equals else None


class Request(Record):
    """What jobs ask for; what is absent is left to the site's defaults or to the stage."""

    time_min: Count | None = Field(None, description="Time limit in minutes")
    cpus: Count | None = Field(
        None, description="Cores of a task; never fewer than the threads that it is given"
    )
    memory_gib: Amount | None = Field(
        None, description="Memory of a task; absent is what the stage says of itself"
    )
    gpus: int | None = Field(
        None, ge=0, le=MOST, description="GPUs of a task; absent is one where it computes on one"
    )
    options: tuple[Annotated[Option, _naming(OF_AN_OPTION)], ...] = Field(
        (),
        description="Further options of sbatch: --partition=cpu, --account=lab, --exclusive. One "
        "with {gpus}, as in --gpus-per-task=a100:{gpus}, is left out where a task needs none",
    )
    hold_limit_hours: Amount | None = Field(
        None, description="Longest that one job which holds all trials may ask for"
    )
    max_nodes: Count | None = Field(None, description="Most nodes that such a job may ask for")

    @property
    def by_name(self) -> dict[str, str | None]:
        """The options by name; the last of a name decides."""
        return dict(map(parts_of, self.options))

    @property
    def has_whole_nodes(self) -> bool:
        """Whether a job has its nodes for itself, whatever it needs of them."""
        return self.by_name.get("exclusive", "") is None

    @field_validator("options")
    @classmethod
    def _leaves_pyscale_its_own(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for option in value:
            given, _ = parts_of(option)
            # sbatch takes the beginning of a name for the whole.
            meant = sorted({*SAID_ELSEWHERE, *SET_BY_PYSCALE})
            name = next((one for one in meant if one.startswith(given)), given)
            if name in SAID_ELSEWHERE:
                raise ValueError(f"set {SAID_ELSEWHERE[name]} in place of {option}")
            if name in SET_BY_PYSCALE:
                raise ValueError(f"pyscale sets --{name} itself: leave {option} out")
            if name in OF_A_NODE and "{" in option:
                raise ValueError(
                    f"{option} counts by the node: use --gpus-per-task={{gpus}} or "
                    "--mem-per-cpu={memory_mib_per_core}M, which Slurm multiplies by the tasks"
                )
        return value


class Override(Request):
    """What jobs of one stage, or on one device, ask for instead."""

    stage: str | None = Field(None, description="Stage; absent is every stage")
    device: Device | None = Field(None, description="Device; absent is every device")

    @field_validator("stage")
    @classmethod
    def _known_stage(cls, value: str | None) -> str | None:
        if value is not None and value not in stage_names():
            raise ValueError(f"unknown stage; {did_you_mean(value, stage_names())}")
        return value


OF_A_JOB = {"name", "cores", "gpus", "memory_mib", "memory_mib_per_core", "time", "time_min"}
"""What the lines at the head of a job's script may name."""


def _finding_one(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise ValueError(f"{value!r} is no pattern: {error}") from error
    if groups != 1:
        raise ValueError(f"{value!r} must hold one group in parentheses, which is the job's id")
    return value


OfJob = Annotated[Line, _naming({"job"})]


class Scheduler(Record):
    """Commands of a scheduler that is not Slurm, by which one job on one node works a run off."""

    directives: tuple[Annotated[Line, _naming(OF_A_JOB)], ...] = Field(
        description="Lines at the head of the job's script, as in '#$ -pe smp {cores}'; one with "
        "{gpus} is left out where none are needed"
    )
    submit: Line = Field(description="Command that takes the script's path and says the job's id")
    job_id: Annotated[str, AfterValidator(_finding_one)] = Field(
        r"(\d+)", description="Pattern of the id in what it says"
    )
    alive: OfJob = Field(description="Command that succeeds while {job} waits or runs")
    cancel: OfJob = Field(description="Command that ends {job}")

    def head(self, name: str, cores: int, gpus: int, memory_mib: int, time_min: int) -> list[str]:
        """Lines at the head of the script of a job that asks for so much."""
        known = {
            "name": name,
            "cores": cores,
            "gpus": gpus,
            "memory_mib": memory_mib,
            "memory_mib_per_core": math.ceil(memory_mib / cores),
            "time": f"{time_min // 60:02}:{time_min % 60:02}:00",
            "time_min": time_min,
        }
        # A line that asks for GPUs has no meaning where none are needed.
        return [line.format(**known) for line in self.directives if gpus or "{gpus}" not in line]


class Site(Record):
    """What jobs of one cluster ask for, and how images run on its nodes."""

    name: Line
    summary: Line = Field(description="Which clusters speak like this, in a line")
    request: Request = Field(Request(), description="What every job asks for")
    override: tuple[Override, ...] = Field(
        (), description="What some jobs ask for instead; the last that fits decides"
    )
    memory: bool = Field(
        True, description="Whether jobs ask for memory; false where the site refuses that"
    )
    gpu_vendor: Literal["nvidia", "amd"] = Field("nvidia", description="Maker of the GPUs")
    setup: tuple[Line, ...] = Field((), description="Lines of shell that every job begins with")
    modules: tuple[Word, ...] = Field((), description="Modules that every job loads after them")
    scratch: InQuotes | None = Field(
        None,
        description="Folder for temporary files on the node's own disk, as the node's shell knows "
        "it: $TMPDIR",
    )
    binds: tuple[InQuotes, ...] = Field(
        (), description="Further paths of the node that images see, read-only"
    )
    poll_s: float = Field(
        2.0,
        ge=0.1,
        le=3600,
        description="Seconds between questions to the scheduler; records tell of tasks sooner",
    )
    jobs: Literal["each-kind", "each-n"] = Field(
        "each-kind",
        description="Jobs that hold nodes for trials: one for all N on nodes of a kind, or one for "
        "each N of them, which leaves none idle and waits in the queue again",
    )
    scheduler: Scheduler | None = Field(
        None, description="Commands of its scheduler; absent is Slurm, through submitit"
    )
    prices: Prices = Field(Prices(), description="What an hour of a core or a GPU costs")


def load_site(name_or_path: str) -> Site:
    """Read a shipped site by name, or a site of the user's own by path."""
    return read_toml("site", file_of("site", name_or_path), Site)
