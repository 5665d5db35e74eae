"""The stage contract: the only thing that the application and the stages share.

A stage is a folder with a `STAGE` object of type `Stage`. One execution of it is described
by a `TaskSpec` and answered by a `TaskResult`; both are files, so that a task can run in
another process, in an image, on another node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, model_validator

from pyscale_stages.declaration import Image, Needs
from pyscale_stages.declaration import Method as Method  # noqa: PLC0414 - what stages import from here
from pyscale_stages.measured import Measured, Warned
from pyscale_stages.reading import Reading
from pyscale_stages.record import Amount, Bytes, Count, Finite, Sample, Seconds, Whole
from pyscale_stages.record import Record as Record  # noqa: PLC0414 - what others import from here
from pyscale_stages.residency import InputCache
from pyscale_stages.wording import plural

if TYPE_CHECKING:
    from pyscale_stages.movie import Movie
    from pyscale_stages.task import Task

AnySample = TypeVar("AnySample", bound=Sample)
Phase = Literal[
    "queue",
    "container_start",
    "python_start",
    "import",
    "model_load",
    "read",
    "compute",
    "write",
    "merge",
    "unattributed",
]
PHASES: tuple[Phase, ...] = get_args(Phase)
Verb = Literal["run", "merge", "check"]
Device = Literal["cpu", "cuda", "mps"]
Sharing = Literal["windows", "threads", "ranks", "copies"]
"""Each worker has windows of its own; N are threads of one process, or ranks that meet and share
one piece of work; or each does all of it."""
Work = Literal["split", "own", "shared", "each"]
"""How N workers stand to the work of a stage: they split windows of it; as ranks that meet, each
has as much of its own, or all share one piece; or each does all of it by itself."""


class StageParams(Record):
    """Parameters of a stage; each stage extends this with described fields."""

    # JSON has no infinity: it would be written, and later be read, as no value.
    model_config = ConfigDict(allow_inf_nan=False)


class TaskSpec(Record):
    """One execution of one verb of one stage."""

    stage: str = Field(description="Name of the stage")
    verb: Verb = Field("run", description="What to do")
    inputs: tuple[tuple[str, Path], ...] = Field(
        description="Slot and path of each input; for merge and check, the folders in order"
    )
    output: Path | None = Field(None, description="Folder for the output; check writes none")
    frames: tuple[Whole, Whole] | None = Field(
        None, description="Window as first frame and end (excluded); None is the whole movie"
    )
    movie_frames: Whole | None = Field(
        None,
        ge=1,
        description="Frames that count as the movie, from its first; None is all that there are",
    )
    reading: Reading | None = Field(
        None, description="What of the first input is the movie; None where no movie is read"
    )
    params: dict[str, JsonValue] = Field(default_factory=dict, description="Stage parameters")
    truth: Path | None = Field(
        None, description="Folder of truth that `check` also compares the output with"
    )
    tolerance: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Smallest score of a check that counts as the same, in place of the stage's",
    )
    seed: Whole = Field(0, ge=0, description="Seed of everything random")
    threads: Whole = Field(1, ge=1, description="Threads the task may use")
    device: Device = Field("cpu", description="Where the stage computes")
    workers: Whole | None = Field(
        None, ge=1, description="N of its trial, which a command of one's own may name"
    )
    rank: Whole = Field(0, ge=0, description="Which of the processes that meet this one is, from 0")
    ranks: Whole = Field(1, ge=1, description="Processes that meet, and go on together")
    meeting: Path | None = Field(
        None, description="File by which they find each other, on storage that all of them see"
    )

    @model_validator(mode="after")
    def _is_one_of_its_ranks(self) -> Self:
        if self.rank >= self.ranks:
            raise ValueError(
                f"rank {self.rank} is not one of {plural(self.ranks, 'rank')}, numbered from 0 to "
                f"{self.ranks - 1}: lower --rank, or raise --ranks"
            )
        if self.ranks > 1 and self.meeting is None:
            raise ValueError(
                f"{self.ranks} ranks need a meeting to find each other: give all of them the "
                "same --meeting FILE, on storage that all of them see"
            )
        return self

    def reading_of(self, path: Path) -> Reading | None:
        """What of an input is the movie; only the first leaves a choice."""
        is_first = self.verb == "run" and bool(self.inputs) and path == self.inputs[0][1]
        return self.reading if is_first else None

    def command_line(self, params_file: Path, result_file: Path) -> list[str]:
        """Arguments after `python -m pyscale_stages` that repeat this task by hand."""
        line = [self.stage, self.verb]
        for slot, path in self.inputs:
            line += ["--input", f"{slot}={path}"]
        for option, value in (
            ("--output", self.output),
            ("--frames", None if self.frames is None else "{}:{}".format(*self.frames)),
            ("--movie-frames", self.movie_frames),
            ("--truth", self.truth),
            ("--tolerance", self.tolerance),
            ("--workers", self.workers),
        ):
            if value is not None:
                line += [option, str(value)]
        line += self.reading.stage_flags() if self.reading is not None else []
        line += ["--params", str(params_file), "--result", str(result_file)]
        line += ["--seed", str(self.seed), "--threads", str(self.threads)]
        if self.meeting is not None:
            line += ["--rank", str(self.rank), "--ranks", str(self.ranks)]
            line += ["--meeting", str(self.meeting)]
        return [*line, "--device", self.device]


class Span(Record):
    """A phase of a task, on the node's monotonic clock and in UTC."""

    phase: Phase
    start_monotonic_s: Finite
    end_monotonic_s: Finite
    start_utc: AwareDatetime

    @property
    def wall_s(self) -> float:
        """Length in seconds."""
        return self.end_monotonic_s - self.start_monotonic_s


class Counters(Record):
    """What a task used and produced."""

    frames: Count = Field(0, description="Frames processed")
    objects: Count = Field(0, description="Cells, pairs or links produced")
    input_bytes: Bytes = Field(0, description="Size of the input on disk")
    input_files: Count = Field(0, description="Files that the input lies in")
    output_bytes: Bytes = Field(0, description="Size of the output on disk")
    read_bytes: Bytes | None = Field(None, description="Bytes asked of the kernel by read calls")
    write_bytes: Bytes | None = Field(None, description="Bytes handed to the kernel")
    storage_read_bytes: Bytes | None = Field(None, description="Bytes fetched from block devices")
    cpu_s: Seconds = Field(0.0, description="User and system time of the process and its children")
    cpu_wait_s: Seconds | None = Field(
        None,
        description="Time in which threads were ready to run and had no core, from the stage's "
        "own imports on; threads that ended before the task did are not in it. None where child "
        "processes did a tenth of the work or more",
    )
    peak_rss_bytes: Bytes = Field(0, description="Peak resident memory since the program started")
    gpu_peak_bytes: Bytes | None = Field(None, description="Peak accelerator memory")
    gpu_mean_utilisation: Amount | None = Field(None, description="Mean GPU use, 0 to 1")
    gpu_own_peak_bytes: Bytes | None = Field(
        None, description="Peak memory that the task's own library held on the accelerator"
    )


class OutputFile(Record):
    """One file that a task left."""

    name: str = Field(description="Name inside the output folder")
    size_bytes: Bytes
    sha256: str


class Window(Record):
    """What an output folder holds; written as `window.json` beside the output.

    `merge` joins folders by it, so that no window can be taken for another.
    """

    stage: str
    frames: tuple[Whole, Whole] = Field(description="First frame and end (excluded), of the movie")
    movie_frames: Whole = Field(description="Frames in the whole movie")
    objects: Count = Field(0, description="Cells, pairs or links in these frames")
    params: dict[str, JsonValue]
    seed: Whole
    inputs: dict[str, str] = Field(
        description="Fingerprint of each input movie by its slot: sizes and sampled bytes of files"
    )


class Agreement(Record):
    """How far two outputs of one stage are the same."""

    same: bool = Field(description="True within the stage's stated tolerance")
    identical: bool = Field(description="True where the output files have the same bytes")
    score: float = Field(ge=0, le=1, description="1 is full agreement by the stage's own measure")
    measure: str = Field(description="What the score is, in words")
    tolerance: Finite = Field(description="Smallest score that counts as the same")
    details: dict[str, Finite] = Field(default_factory=dict)

    def judged_by(self, tolerance: float | None) -> Agreement:
        """The same by another tolerance than the stage's; None is the stage's."""
        if tolerance is None:
            return self
        same = self.score >= tolerance
        return self.model_copy(update={"same": same, "tolerance": tolerance})


class TaskError(Record):
    """Why a task failed."""

    kind: str
    message: str
    exit_code: int


class TaskResult(Record):
    """The record of one finished task, written atomically as the task's last act."""

    schema_version: Literal[3] = 3
    spec: TaskSpec
    status: Literal["done", "failed"]
    start_utc: AwareDatetime
    end_utc: AwareDatetime
    wall_s: Seconds = Field(description="From the start of the process to the end of its work")
    spans: tuple[Span, ...]
    counters: Counters
    page_cache: tuple[InputCache, ...] = ()
    outputs: tuple[OutputFile, ...] = ()
    quality: dict[str, Finite] = Field(default_factory=dict)
    agreement: Agreement | None = None
    determinism: str = Field("", description="What is reproducible with this seed")
    versions: dict[str, str] = Field(default_factory=dict)
    stamp: dict[str, Any] = Field(default_factory=dict, description="The hardware it ran on")
    samples: dict[str, tuple[dict[str, JsonValue], ...]] = Field(
        default_factory=dict,
        description="Records of what the stage measures, by the names that it declares for them",
    )
    measured: tuple[Measured, ...] = Field((), description="Numbers that it measured of its work")
    warned: tuple[Warned, ...] = Field((), description="What the task warned of")
    error: TaskError | None = None

    @model_validator(mode="after")
    def _spans_end_after_they_start(self) -> Self:
        # Of all spans at once: a task may have thousands.
        if any(span.end_monotonic_s < span.start_monotonic_s for span in self.spans):
            raise ValueError("one of the spans ends before it starts")
        return self

    def of(self, kind: type[AnySample]) -> tuple[AnySample, ...]:
        """Samples of one kind, in their order."""
        return tuple(kind.model_validate(one) for one in self.samples.get(kind.kept_as, ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences that the reader of this result must know."""
        return tuple(warning.sentence for warning in self.warned if warning.is_said)


@dataclass(frozen=True)
class Slot:
    """One input of a stage."""

    name: str
    help: str
    required: bool = True
    is_place: bool = False
    """Whether it is a folder to measure, which may be written into, and no input to read."""


@dataclass(frozen=True)
class Resources:
    """What one task of a stage asks for, where the site says nothing else."""

    cpus: int = 1
    memory_gib: float = 4.0
    devices: tuple[Device, ...] = ("cpu",)


@dataclass(frozen=True)
class Surroundings:
    """What a stage takes from the machine beside its inputs; an image must be given it."""

    files: tuple[Path, ...] = ()
    """Files and folders to read, which the parameters or the environment name."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables by which the stage finds them."""
    written: tuple[Path, ...] = ()
    """Folders to write into, which they name."""


@dataclass(frozen=True)
class Stage:
    """A stage: its name, what it takes and leaves, and its verbs.

    `run` processes one window, `merge` joins windows, `check` compares two outputs. Each
    receives a `Task`, which carries paths, parameters and the clock.
    """

    name: str
    summary: str
    params: type[StageParams]
    inputs: tuple[Slot, ...]
    output: str
    """File name of the main output: what the next stage of a pipeline reads."""
    packages: tuple[str, ...]
    """Distributions whose versions belong in the record."""
    determinism: str
    """What the same seed gives: the same bytes, or a stated tolerance."""
    run: Callable[[Task[Any]], None]
    merge: Callable[[Task[Any]], None]
    check: Callable[[Task[Any]], Agreement]
    method: Callable[[Any, Device], Method]
    """The algorithm that given parameters choose."""
    resources: Resources = Resources()
    extra: str = ""
    """Extra of the distribution that installs the stage's libraries."""
    modules: tuple[str, ...] = ()
    """These libraries as it imports them, in the order in which what is absent is told."""
    needs: Needs = field(default_factory=Needs)
    """Parts that it needs beside these, and how to see whether they are there."""
    judged_by: Literal["labels", "tracks"] | None = None
    """What of a truth of the user's own judges its output."""
    folders: tuple[str, ...] = ()
    """Folders beside its own that its image holds, which stages share."""
    has_models: bool = False
    """Whether its image holds the models that come with pyscale."""
    image: Image | None = None
    """Its container image, which has its name; None where it runs in none."""
    other_images: Mapping[str, Image] = field(default_factory=dict)
    """Images that other parameters need, by name."""
    image_name: Callable[[Any], str] | None = None
    """Which of them given parameters need; None where there is one."""
    surroundings: Callable[[Any], Surroundings] = lambda _params: Surroundings()
    """What the stage takes from the machine beside its inputs, with given parameters."""
    room_bytes: Callable[[Any], int] = lambda _params: 0
    """Most that a task writes into the folder that it measures, with given parameters."""
    moves_frames: Callable[[Any], bool] = lambda _params: False
    """Whether its output is in other coordinates than its input, with given parameters."""
    work: Work = "split"
    """How N workers stand to its work, from which planning, running and reading follow."""
    data: tuple[str, ...] = ("movie", "labels")
    """What a suite may measure it on; one whose workers each do all the work fits every suite."""
    refuse_workers: Callable[[Any, int], None] = lambda _params, _workers: None
    """Raises `BadInput` where so many workers cannot share its work, with given parameters."""
    samples: tuple[type[Sample], ...] = ()
    """Records of what it measures beside the counters that every task has."""
    exports: Mapping[str, Callable[[Path, Movie | None, Path], None]] = field(default_factory=dict)
    """Formats of other tools by name: each takes an output, the labels it was made of where it
    needs them, and the folder to write into."""
    outputs: Callable[[Any], str] | None = None
    """Name of the main output with given parameters, where `output` is not always its name."""
    sharing: Callable[[Any], Sharing] = lambda _params: "windows"
    """How N workers share the work, with given parameters."""
    is_compared: Callable[[Any], bool] = lambda _params: True
    """Whether outputs at other N are compared with the baseline's, with given parameters."""
    runs_outside: bool = False
    """Whether it has no image of its own: its process starts what it measures, in an image too."""

    def output_with(self, params: StageParams) -> str:
        """File name of the main output with given parameters."""
        return self.outputs(params) if self.outputs else self.output

    def libraries(self, params: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
        """Modules that it imports with given parameters, and the extra that installs them."""
        chosen = (self.needs.of_choice.get((name, str(value))) for name, value in params.items())
        return next(filter(None, chosen), (self.modules, self.extra))

    @property
    def meets(self) -> bool:
        """Whether its workers are ranks that meet, so that all must run at the same time."""
        return self.work in {"own", "shared"}

    def meets_with(self, params: StageParams) -> bool:
        """Whether its workers are ranks with given parameters."""
        return self.meets or self.sharing(params) == "ranks"

    def places(self, spec: TaskSpec) -> list[Path]:
        """Folders that a task of it measures."""
        # The inputs of other verbs are outputs of this stage.
        slots = {slot.name for slot in self.inputs if slot.is_place and spec.verb == "run"}
        return [path for slot, path in spec.inputs if slot in slots]
