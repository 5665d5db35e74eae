"""The plan of a run: its trials in the order in which they run, frozen before they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from pyscale.planning.sites import Site
from pyscale.planning.suite import TRUTH, EntryName, Suite
from pyscale.planning.traits import DATA
from pyscale_stages.contract import Device, Record
from pyscale_stages.framefiles import files_of
from pyscale_stages.inventory import Inventory
from pyscale_stages.reading import Reading
from pyscale_stages.record import Whole
from pyscale_stages.registry import load_stage
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.wording import size_in_words

# Folders of a run are named by these, and a plan may come from anybody: none leads elsewhere.
RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
TrialId = Annotated[str, Field(pattern=r"^[a-z0-9_]+-n[0-9]+-b[0-9]+$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]


class TrialInput(Record):
    """Where one input of a trial comes from."""

    slot: str
    path: Path | None = Field(None, description="A file or folder given from outside")
    from_trial: TrialId | None = Field(None, description="Trial whose merged output it is")
    file: FileName | None = Field(None, description="Name of the file in that output")
    is_place: bool = Field(
        False, description="Whether it is a folder whose storage is measured, and no input to read"
    )

    @property
    def source(self) -> str:
        """Where it comes from, in a word."""
        return self.from_trial or (self.path.name if self.path else "")


class OwnData(Record):
    """What entries with data of their own measure on."""

    data: str = Field(description="As the suite names it")
    movie: Path
    frames: Whole
    truth: Path | None = Field(None, description="Truth of its own, which is no synthetic movie's")
    reading: Reading | None = Field(None, description="What of its files is read, of a movie")
    inventory: Inventory | None = Field(None, description="What was found of it")


class Trial(Record):
    """One repeat of one configuration."""

    id: TrialId = Field(description="Like segment-n2-b3")
    entry: EntryName = Field(description="Entry of the suite")
    stage: EntryName = Field(description="Stage that runs")
    workers: Whole
    block: Whole = Field(description="Which repeat, from 1")
    device: Device
    threads: Whole | None = Field(
        None, description="Cores and threads of each worker; None is the run's cpus_per_worker"
    )
    gpus: Annotated[int, Field(ge=1)] | Literal["all"] | None = Field(
        None, description="GPUs of each worker where it computes on cuda; None is one"
    )
    image: str | None = Field(None, description="Image that runs it; None runs it natively")
    interpreter: Path | None = Field(
        None,
        description="Python of the environment that runs it; None is pyscale's own, or image's",
    )
    movie_frames: Whole | None = Field(
        None, description="Frames that count as its movie, from the first; None is all of them"
    )
    windows: tuple[tuple[Whole, Whole], ...] = Field(
        description="Frames of each task; as many as workers, or more"
    )
    inputs: tuple[TrialInput, ...]
    data: str | None = Field(None, description="Dataset of its own; None is the run's")
    params: dict[str, JsonValue]
    truth: Path | None
    reference_trial: TrialId = Field(
        description="Trial of its entry whose output is kept, and read by later stages"
    )
    compared: bool = Field(
        True, description="Whether its output must be that of the reference, from the same frames"
    )
    beside_trial: TrialId | None = Field(
        None,
        description="Trial of another point of the grid, whose output its own is set beside, "
        "without a verdict",
    )

    @property
    def is_reference(self) -> bool:
        """Whether later stages, and comparisons where there are any, rest on its output."""
        return self.id == self.reference_trial

    @property
    def meets(self) -> bool:
        """Whether its workers are ranks, which run at the same time and meet."""
        stage = load_stage(self.stage)
        if stage.meets:
            return True
        try:
            params = stage.params.model_validate(self.params)
        except ValidationError:  # Another version of pyscale measured it, with other parameters.
            return False
        return stage.meets_with(params)

    @property
    def processes(self) -> int:
        """Tasks that run at once: one for each worker, or one whose threads they are."""
        return min(self.workers, len(self.windows))

    @property
    def joins(self) -> bool:
        """Whether its windows are joined to one output: of copies of one work each is whole."""
        return len(set(self.windows)) > 1

    @property
    def window_tasks(self) -> tuple[str, ...]:
        """Names of the tasks that process windows."""
        return tuple(f"w{window}" for window in range(len(self.windows)))

    @property
    def output_task(self) -> str:
        """Name of the task that leaves the whole output: the merge, or the only one."""
        return "merge" if self.joins else "w0"

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks, in the order of their start; an only window's output is the whole."""
        merge = ("merge",) if self.joins else ()
        checked = self.truth is not None if self.is_reference else self.compared
        beside = ("beside",) if self.beside_trial else ()
        return (*self.window_tasks, *merge, *(("check",) if checked else ()), *beside)


class Identity(Record):
    """What stages are made from in one environment or image."""

    python: str = Field(description="Version of Python")
    code_folder: Path = Field(description="Where tasks import pyscale_stages from")
    code_sha256: str = Field(description="Of all its Python files and their names")
    packages: dict[str, str] = Field(description="Versions of all installed distributions")


def _storable(value: Any) -> Any:
    """Refuse a number that no column of a table can hold: it is damage."""
    if isinstance(value, int) and value >= 2**63:
        raise ValueError("it is not below 2**63")
    return value


class Plan(Record):
    """Everything that a run will do, frozen before it does anything."""

    run_id: RunId
    suite: Suite
    settings: dict[str, Annotated[Any, AfterValidator(_storable)]]
    movie: Path | None = Field(
        None,
        description="What it measures on; None where it reads nothing: it measures the machine "
        "alone, or images that its stages make themselves",
    )
    movie_frames: Whole = Field(0, description="Its frames, or slides where it is a folder of them")
    frame_yx: tuple[Whole, Whole] | None = Field(
        None, description="Rows and columns of a frame in pixels, where they are known"
    )
    place: Path | None = Field(None, description="Folder whose storage is measured, where that is")
    reading: Reading | None = Field(None, description="What of its files is read, of a movie")
    inventory: Inventory | None = Field(None, description="What was found of it")
    truth: Path | None = Field(
        None,
        description="The user's or the registry's truth of its data, in the movie's coordinates",
    )
    unjudged: tuple[str, ...] = Field(
        (), description="Why that truth says nothing of an entry, one sentence for each"
    )
    own_data: tuple[OwnData, ...] = Field(
        (), description="Datasets that entries name for themselves"
    )
    identities: dict[str, Identity] = Field(
        {}, description="What each version is made from, by its interpreter or image file"
    )
    site: Site | None = Field(None, description="The cluster that tasks run on, if one does")
    queue: Site | None = Field(
        None, description="The cluster in one job of which, on one node, tasks are processes"
    )
    baseline_workers: Whole = Field(description="N0: the smallest number of workers measured")
    trials: tuple[Trial, ...] = Field(description="In the order in which they run")

    @model_validator(mode="after")
    def _speaks_of_its_own(self) -> Self:
        """Refuse trials of one name, and a trial that needs one that there is not."""
        ids = {trial.id for trial in self.trials}
        for trial in self.trials:
            needed = (
                trial.reference_trial,
                trial.beside_trial,
                *(i.from_trial for i in trial.inputs),
            )
            if not ids.issuperset(filter(None, needed)):
                raise ValueError(f"{trial.id} needs a trial that is not in the plan")
        if len(ids) < len(self.trials):
            raise ValueError("two trials have the same name")
        return self

    @property
    def title(self) -> str:
        """What ran on what, in words."""
        return f"run {self.run_id}, suite {self.suite.name}, {self.on_what}"

    @property
    def on_what(self) -> str:
        """What it measures on, or else the folder that it measures."""
        if self.movie is None:
            alone = self.suite.data == "place"
            return f"of the folder {self.place}" if alone else f"on {self.measured_for}"
        others = len({own.movie for own in self.own_data} - {self.movie})
        more = f" and {others} other dataset{'s' * (others != 1)}" if others else ""
        return f"on {self._data_name} ({self.how_much}){more}"

    @property
    def movies(self) -> dict[str, Path]:
        """What it reads: the run's data by an empty name, entries' and true labels by theirs."""
        found = {} if self.movie is None else {"": self.movie}
        found |= {Path(own.data).name: own.movie for own in self.own_data}
        for trial in self.trials:
            for item in trial.inputs:
                source = self.suite.stages[trial.entry].inputs.get(item.slot)
                if source == TRUTH and item.path is not None:
                    found[f"{Path(trial.data or '').name}/{item.path.parent.name}"] = item.path
        return found

    @property
    def truths(self) -> dict[str, Path]:
        """Truth of the user's own or the registry's, by the names that `movies` has."""
        truths = {"truth": self.truth}
        truths |= {f"{Path(own.data).name}/truth": own.truth for own in self.own_data}
        return {name: path for name, path in truths.items() if path is not None}

    @property
    def readings(self) -> dict[str, Reading]:
        """What is read of those `movies` that no program of the user's own opens."""
        outside = any(load_stage(trial.stage).runs_outside for trial in self.trials)
        found = {Path(own.data).name: own.reading for own in self.own_data}
        found[""] = None if outside else self.reading
        return {name: reading for name, reading in found.items() if reading is not None}

    def reading_of(self, trial: Trial) -> Reading | None:
        """What of its first input a trial reads, where that is a movie from outside."""
        known = next((own for own in self.own_data if own.data == trial.data), self)
        first = next((item for item in trial.inputs if not item.is_place), None)
        return known.reading if first and first.path and first.path == known.movie else None

    def files_by(self, trial: Trial) -> Reading | None:
        """The same, by which files are found; a program of the user's own may read any."""
        return None if load_stage(trial.stage).runs_outside else self.reading_of(trial)

    @property
    def input_bytes(self) -> int:
        """Size of what is read of the run's data, or of all its files where no movie was opened."""
        if self.inventory is not None:
            return self.inventory.size_bytes
        files = [] if self.movie is None else files_of(self.movie)
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def data_lines(self) -> list[str]:
        """What was found of each movie, or of the slides, a line each."""
        found = [] if self.inventory is None else [self.inventory.line(self.channels)]
        if self.suite.data == "slides" and self.movie is not None:
            places = {slide.resolve().parent for slide in slide_files(self.movie)}
            among = f" in {len(places)} folders" if len(places) > 1 else ""
            found = [
                f"{self._data_name}: {self.how_much}{among}, {size_in_words(self.input_bytes)}"
            ]
        return found + [own.inventory.line() for own in self.own_data if own.inventory]

    @property
    def channels(self) -> list[int]:
        """Channels that stages take of the movie, or of its frames after registration."""
        return sorted({channel for channel in self.readers.values() if channel is not None})

    @property
    def readers(self) -> dict[str, int | None]:
        """Entries that read the movie, or its frames after registration, each with its channel.

        A program of the user's own opens it itself.
        """
        found: dict[str, int | None] = {}
        for trial in self.trials:
            registered = (self.trial(i.from_trial) for i in trial.inputs if i.from_trial)
            reads = any(i.path is not None and i.path == self.movie for i in trial.inputs)
            reads |= any(source.stage == "register_denoise" for source in registered)
            if reads and not load_stage(trial.stage).runs_outside:
                channel = trial.params.get("channel")
                found[trial.entry] = channel if isinstance(channel, int) else None
        return found

    @property
    def compared(self) -> dict[str, str]:
        """Measured entries, each with the one that is the same but for the first of `versus`."""
        own = {trial.entry for trial in self.trials}
        steps = self.suite.stages.items()
        return {entry: one.beside for entry, one in steps if one.beside in own and entry in own}

    @property
    def headline(self) -> str:
        """What is measured, on how much and with how many workers, in a line."""
        size = f" of {self.frame_yx[1]} x {self.frame_yx[0]} px" if self.frame_yx else ""
        counts = ", ".join(map(str, sorted({trial.workers for trial in self.scaling_trials})))
        trials = f"{len(self.trials)} trial{'s' * (len(self.trials) != 1)}"
        if at_most := self.settings.get("at_most"):
            trials += f", and more as they fit into {at_most}"
        what = self.on_what.replace(f"({self.how_much})", f"({self.how_much}{size})")
        return f"{self.suite.name} {what}; N = {counts}; {trials}"

    @property
    def how_much(self) -> str:
        """Frames of the movie, or slides or files of the folder, in words."""
        if self.suite.shares_no_frames:
            return "whole"
        unit = self.suite.unit
        one = self.movie_frames == 1 and unit != "frames"
        return f"{self.movie_frames} {unit.removesuffix('s') if one else unit}"

    @property
    def measured_for(self) -> str:
        """Name of the data that its times are good for, or that it was the machine's."""
        return DATA[self.suite.data].named or self._data_name

    @property
    def _data_name(self) -> str:
        """Name of the dataset, or of the file or folder given in its place."""
        assert self.movie is not None
        return Path(str(self.settings["data"])).name or self.movie.name

    def entries_that(self, trait: Callable[[str], bool]) -> frozenset[str]:
        """Entries whose stages have a trait (see `pyscale.planning.traits`)."""
        return frozenset(trial.entry for trial in self.trials if trait(trial.stage))

    @property
    def scaling_trials(self) -> tuple[Trial, ...]:
        """Trials that the worker counts were asked of, and not what is measured once beside."""
        once = self.suite.measured_once
        return tuple(trial for trial in self.trials if trial.entry not in once)

    @property
    def measured(self) -> frozenset[str]:
        """Entries that were asked for: one that only feeds others has a single trial."""
        scaling = self.scaling_trials or self.trials
        trials = Counter(trial.entry for trial in scaling)
        return frozenset(entry for entry, count in trials.items() if count > 1) or frozenset(trials)

    def place_in_pipeline(self, trial: Trial) -> tuple[int, int, int]:
        """Key that sorts trials as people read them: by stage, N and repeat."""
        return list(self.suite.stages).index(trial.entry), trial.workers, trial.block

    def threads_of(self, trial: Trial) -> int:
        """Cores and threads of each worker of a trial."""
        return trial.threads or int(self.settings["cpus_per_worker"])

    def tolerance_of(self, trial: Trial) -> float | None:
        """Smallest agreement that counts as the same, where the user set it."""
        given = self.settings.get("tolerance", {})
        named = (trial.entry, self.suite.stages[trial.entry].family, trial.stage)
        return next((given[name] for name in named if name in given), None)

    @property
    def threads_in_words(self) -> str:
        """Cores and threads of each worker: of all trials, or each number that some have."""
        return " or ".join(map(str, sorted({self.threads_of(trial) for trial in self.trials})))

    def keeps_output(self, trial: Trial) -> bool:
        """Whether another trial reads its output, or is compared with it or set beside it."""
        return trial.is_reference or any(trial.id == one.beside_trial for one in self.trials)

    def trial(self, trial_id: str) -> Trial:
        """Return the trial of that id."""
        return next(trial for trial in self.trials if trial.id == trial_id)
