"""The expansion of a suite into trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from pyscale.baseversion import OF_BASE, BaseVersion
from pyscale.blockorder import FROM_OUTSIDE, block_order
from pyscale.errors import UserError
from pyscale.images.catalog import image_for
from pyscale.plan import OwnData, Plan, Trial, TrialInput
from pyscale.rankrules import refuse_more_ranks_than_slides, refuse_ranks_apart
from pyscale.sites import Site
from pyscale.suite import MOVIE, SLIDES, TRUTH, Layout, Suite, SuiteStage, load_suite, suite_names
from pyscale.sweep import Sweep
from pyscale.traits import DATA, measures_alone
from pyscale_stages.contract import Device, Sharing, Stage, StageParams
from pyscale_stages.registry import STAGE_NAMES, load_stage, stage_names
from pyscale_stages.truth.reading import tells
from pyscale_stages.wording import did_you_mean, first_problem

JUDGED_BY: dict[str, Literal["labels", "tracks"]] = {
    "segment": "labels",
    "contact": "labels",
    "track": "tracks",
}
"""What of a truth of the user's own judges the output of a stage."""

CROP = "length_px"
"""Parameter that crops a square of that length from every frame."""


@dataclass(frozen=True)
class Dataset:
    """The movie, or the folder of slides, that a run measures on.

    Attributes
    ----------
    movie : Path
        Its file or folder.
    frames : int
        Its length; the number of slides.
    axes : str or None
        Axes to believe in place of the file's own.
    truth : Path or None
        A synthetic movie's `truth` folder.
    own_truth : Path or None
        Truth in one of the formats of others, in the movie's own coordinates.
    shape_yx : tuple of int or None
        Rows and columns of its frames, in pixels, where they are known.
    """

    movie: Path
    frames: int
    axes: str | None = None
    truth: Path | None = None
    own_truth: Path | None = None
    shape_yx: tuple[int, int] | None = None


def make_plan(
    suite: Suite,
    dataset: Dataset | None,
    *,
    run_id: str,
    settings: dict[str, Any],
    workers: Sequence[int],
    only: Sequence[str] = (),
    site: Site | None = None,
    base: BaseVersion | None = None,
    own_data: Mapping[str, Dataset] | None = None,
) -> Plan:
    """Expand a suite into trials.

    They run in blocks of which each holds every configuration once (see `pyscale.blockorder`).
    N workers that measure the machine do so each by itself; beside anything else it is one, once.
    N workers that load patches, or work on one image together, are ranks that all run at the same
    time.

    Parameters
    ----------
    suite : Suite
        Unfolded, where it has a grid.
    dataset : Dataset or None
        None for a suite that reads none.
    run_id : str
    settings : dict
        The run's settings, frozen into the plan; `scaling`, `seed`, `repeats`, `device`,
        `stages`, `runtime`, `images`, `layout`, `chunks_per_worker`, `path` and `runs_folder` are
        used here.
    workers : sequence of int
        Worker counts N, rising.
    only : sequence of str
        Entries of the suite to measure, or those with a grid for all their points; entries that
        feed them run once. What measures the machine beside a movie stays, unless some of that is
        named.
    site : Site, optional
        The cluster that tasks run on.
    base : BaseVersion, optional
        What base versions of entries are (see `pyscale.baseversion.with_base`).
    own_data : mapping of str to Dataset, optional
        Datasets that entries name for themselves.

    Raises
    ------
    UserError
        If a worker count exceeds the frames or slides, a crop the frame, a name or parameter is
        wrong, or ranks that meet are not to run at the same time.
    """
    own_data = own_data or {}
    datasets: dict[str | None, Dataset | None] = {None: dataset}
    datasets.update(own_data.items())
    sweeps = {name: _sweep(suite, one, settings, tuple(workers)) for name, one in datasets.items()}
    sweep = sweeps[None]
    _refuse_unknown_stages(
        suite, only, {"parameters": settings["stages"], "an image": settings["images"]}
    )
    if settings["layout"] == "gang" and settings["chunks_per_worker"] > 1:
        raise UserError(
            f"--layout gang starts all workers at once, each on one window, so it takes no "
            f"--chunks-per-worker {settings['chunks_per_worker']}: leave one of the two out"
        )
    measured = _measured(suite, only)
    refuse_ranks_apart(suite, measured, settings, site)
    place = _place(settings) if suite.entries_that(measures_alone) else None
    entries: dict[str, _Entry] = {}
    for entry in suite.stages:
        name = suite.data_of(entry)
        entries[entry] = _Entry.of(
            suite,
            entry,
            _Sources(datasets[name], place),
            sweeps[name],
            settings,
            base=base,
            earlier=entries,
        )
    trials = tuple(
        entries[entry].trial(n, block, measured)
        for block in range(1, settings["repeats"] + 1)
        for entry, n in block_order(
            suite, measured, sweep, block, settings["seed"], base_first=settings["repeats"] == 1
        )
    )
    _refuse_warm(trials, each=site is not None and settings.get("allocation") == "each")
    for name, one in datasets.items():
        if one is not None:
            _refuse_larger_than_frames(one, (trial for trial in trials if trial.data == name))
    return Plan(
        run_id=run_id,
        suite=suite,
        settings=settings | {"device": _main_device(suite, measured, settings["device"])},
        movie=dataset.movie if dataset else None,
        movie_frames=dataset.frames if dataset else 0,
        frame_yx=dataset.shape_yx if dataset else None,
        place=place,
        axes=dataset.axes if dataset else None,
        truth=dataset.own_truth if dataset else None,
        unjudged=tuple(
            f"The quality of {entry} against the truth: {entries[entry].unjudged}."
            for entry in suite.stages
            if entry in measured and entries[entry].unjudged
        ),
        own_data=tuple(
            OwnData(
                data=name,
                movie=one.movie,
                frames=one.frames,
                axes=one.axes,
                truth=one.own_truth,
            )
            for name, one in own_data.items()
        ),
        base=base,
        site=site,
        baseline_workers=workers[0],
        trials=trials,
    )


def _sweep(
    suite: Suite, dataset: Dataset | None, settings: dict[str, Any], workers: tuple[int, ...]
) -> Sweep:
    if suite.data == "slides" and dataset is not None:
        refuse_more_ranks_than_slides(max(workers), dataset.movie, dataset.frames)
    if DATA[suite.data].given or dataset is None:
        return Sweep.without_frames(suite.data, workers)
    sweep = Sweep(settings["scaling"], workers, dataset.frames, suite.frames_per_worker)
    if not suite.shares_no_frames:
        sweep.refuse_too_short(dataset.movie.name)
    return sweep


def _measured(suite: Suite, only: Sequence[str]) -> set[str]:
    """Entries to measure, of those that were named."""
    if not only:
        return {*suite.stages}
    steps = suite.stages.items()
    named = {entry for entry, step in steps if {entry, step.family, step.version_of} & {*only}}
    # It was asked for beside the stages of the suite, and they are what is chosen from.
    return named if named & suite.measured_once else named | suite.measured_once


def _place(settings: Mapping[str, Any]) -> Path:
    """Folder whose storage is measured: one for all tasks, wherever they run."""
    return Path(settings["path"] or settings["runs_folder"]).expanduser().absolute()


def _refuse_unknown_stages(
    suite: Suite, only: Sequence[str], overrides: Mapping[str, Mapping[str, object]]
) -> None:
    """Refuse misspelt names; settings may name stages that another suite has."""
    # A base version is measured with the new one, and named by it.
    steps = {entry: step for entry, step in suite.stages.items() if step.version_of is None}
    here = {*steps} | {step.family for step in steps.values() if step.family}
    for name in only:
        if name not in here:
            raise UserError(
                f"the suite {suite.name} has no stage {name!r}; {did_you_mean(name, here)}"
            )
    known = {*here, *stage_names()}
    for what, names in overrides.items():
        for name in names:
            # Only a name of neither makes it worth reading every suite.
            if name not in known:
                known = known.union(*(load_suite(other).stages for other in suite_names()))
            if name not in known:
                raise UserError(
                    f"the settings give {what} to a stage {name!r} that no suite has; "
                    f"{did_you_mean(name, known)}"
                )


def _main_device(suite: Suite, measured: Set[str], of_run: Device) -> Device:
    """The device by which a run is called: what was asked for, unless every entry has its own.

    Then it is one beside the CPU, if any. What is measured beside the suite does not count.
    """
    own = measured - suite.measured_once or measured
    devices = [step.device or of_run for entry, step in suite.stages.items() if entry in own]
    if any(suite.stages[entry].device is None for entry in own):
        return of_run
    return next((device for device in devices if device != "cpu"), "cpu")


def _refuse_warm(trials: Iterable[Trial], *, each: bool) -> None:
    """Raise where no warm worker could outlast one trial."""
    for trial in (trial for trial in trials if trial.start == "warm"):
        if each:
            raise UserError(
                "--start warm needs workers that outlast a job, and with --allocation each every "
                "trial has jobs of its own: use --allocation hold, or --start cold"
            )
        if trial.gpu_sharing == "mps":
            raise UserError(
                f"{trial.entry} shares a GPU by mps, which runs for one trial, so its workers "
                "cannot be kept: use --start cold, or another gpu_sharing"
            )


def _refuse_larger_than_frames(dataset: Dataset, trials: Iterable[Trial]) -> None:
    """Raise where a square crop would not fit into the frames."""
    if dataset.shape_yx is None:
        return
    most = min(dataset.shape_yx)
    lengths = {trial.params.get(CROP) for trial in trials}
    asked = sorted(length for length in lengths if isinstance(length, int))
    if asked and asked[-1] > most:
        rows, columns = dataset.shape_yx
        fitting = ",".join([*(str(length) for length in asked if length <= most), "full"])
        raise UserError(
            f"frames of {dataset.movie.name} have {rows} x {columns} pixels, so no {asked[-1]} x "
            f"{asked[-1]} can be cropped from them: ask for --sizes {fitting}, or name a dataset "
            "with larger frames by --data"
        )


def powers_of_two(most: int) -> tuple[int, ...]:
    """1, 2, 4 … up to `most`."""
    return tuple(1 << exponent for exponent in range(most.bit_length()))


def even_windows(n_frames: int, count: int) -> tuple[tuple[int, int], ...]:
    """Split frames 0 … n_frames into contiguous windows whose lengths differ by one at most."""
    edges = [window * n_frames // count for window in range(count + 1)]
    return tuple(pairwise(edges))


@dataclass(frozen=True)
class _Sources:
    """What no entry of a suite makes."""

    dataset: Dataset | None
    place: Path | None

    def input(self, slot: str, source: str, *, entry: str, coordinates: str | None) -> TrialInput:
        if source in {MOVIE, SLIDES}:
            return TrialInput(slot=slot, path=self.dataset.movie if self.dataset else None)
        if source == TRUTH:
            return TrialInput(slot=slot, path=self._true_labels(entry, coordinates))
        return TrialInput(slot=slot, path=self.place, is_place=True)

    def _true_labels(self, entry: str, coordinates: str | None) -> Path | None:
        if self.dataset is None:
            return None
        truth = self.truth(coordinates or "camera")
        if truth is None:
            raise UserError(
                f"{entry} reads true labels, and {self.dataset.movie.name} is not a synthetic "
                "movie: name another dataset"
            )
        return truth / "labels_ch0.ome.tif"

    def truth(self, coordinates: str | None) -> Path | None:
        known = self.dataset.truth if self.dataset else None
        return known / coordinates if known and coordinates else None

    def why_unjudged(self, stage: str, coordinates: str | None, *, moved: bool) -> str:
        """Say in a clause why a truth of the user's own does not fit; empty where it does."""
        own = self.dataset.own_truth if self.dataset else None
        if own is None or coordinates is None:
            return ""
        if moved:
            return (
                "its input was registered, and the truth is in the coordinates of the movie as it "
                "was recorded"
            )
        if stage not in JUDGED_BY:
            return f"{own.name} has labels, and they do not tell how {stage} should be done"
        if JUDGED_BY[stage] not in tells(own):
            return f"{own.name} holds no {JUDGED_BY[stage]}"
        return ""


@dataclass(frozen=True)
class _Entry:
    """What is planned of one entry of the suite."""

    scaled: Scaled
    output: str
    unjudged: str
    moved: bool
    beside: str | None
    base: str | None
    repeats: int

    @classmethod
    def of(
        cls,
        suite: Suite,
        name: str,
        sources: _Sources,
        sweep: Sweep,
        settings: dict[str, Any],
        *,
        base: BaseVersion | None,
        earlier: Mapping[str, _Entry],
    ) -> _Entry:
        step = suite.stages[name]
        # What the user says of an entry holds for both versions of it.
        own = step.version_of or name
        older = base if step.version_of else None
        stage = load_stage(suite.stage_name(name))
        inputs = tuple(
            sources.input(slot, source, entry=name, coordinates=step.truth)
            if source in FROM_OUTSIDE
            else TrialInput(
                slot=slot,
                from_trial=trial_id(source, sweep.feeding, 1),
                file=earlier[source].output,
            )
            for slot, source in step.inputs.items()
        )
        given = step.params
        for overriding in (settings["stages"], older.params if older else {}):
            for whose in (stage.name, step.family or own, own):
                given = given | overriding.get(whose, {})
        # The place in a grid stays, whatever the settings say of the stage.
        given = given | {axis: step.params[axis] for axis in step.point if axis in step.params}
        params = _validated(name, stage, given)
        meets = stage.meets_with(params)
        # Ranks wait for each other: those that were started one by one might wait for ever.
        layout: Layout = "gang" if meets else settings["layout"] or step.layout
        moved = any(earlier[one].moved for one in step.inputs.values() if one in earlier)
        truth = sources.truth(step.truth)
        unjudged = sources.why_unjudged(stage.name, step.truth, moved=moved)
        if truth is None and step.truth and not unjudged and sources.dataset:
            truth = sources.dataset.own_truth
        # A stage without a kernel for the device runs on the CPU, and its record says so.
        wanted: Device = step.device or settings["device"]
        device = wanted if wanted in stage.resources.devices else "cpu"
        if stage.runs_outside and settings["runtime"] != "native" and not given.get("image"):
            raise UserError(
                f"{name} is a step without an image, and --runtime {settings['runtime']} runs "
                "tasks in images: give it one by --image or the key image, or use --runtime native"
            )
        if stage.name not in STAGE_NAMES and settings["runtime"] != "native":
            raise UserError(
                f"{stage.name} is a stage of another package, of which there is no image: use "
                "--runtime native, or make it a step with an image (docs/own-step.md)"
            )
        if stage.sharing(params) != "windows":
            _refuse_windows(name, sweep, settings, are_ranks=meets)
        image = None
        if not stage.runs_outside:
            image = image_for(own, stage, params, device, settings["images"])
            if older is not None and older.kind == "images":
                image += OF_BASE
        if name in suite.measured_once:
            sweep = Sweep.without_frames("place", (1,))
        feeding, frames = sweep.feeding, sweep.frames_at(sweep.feeding)
        reference = Trial(
            id=trial_id(name, feeding, 1),
            entry=name,
            stage=stage.name,
            workers=feeding,
            block=1,
            device=device,
            gpus=step.gpus if device == "cuda" else None,
            gpu_sharing=step.gpu_sharing if device == "cuda" else "own",
            start=step.start,
            image=None if settings["runtime"] == "native" else image,
            interpreter=older.python if older else None,
            layout=layout,
            # What a step of the user's own reads may be no movie, which would tell its length.
            movie_frames=frames if sweep.is_weak or stage.runs_outside else None,
            windows=((0, frames),),
            inputs=inputs,
            data=suite.data_of(name),
            params=params.model_dump(mode="json"),
            truth=truth,
            reference_trial=trial_id(name, feeding, 1),
            compared=stage.is_compared(params) and not sweep.is_weak,
        )
        return cls(
            scaled=Scaled.of(reference, step, sweep, settings["chunks_per_worker"]),
            output=stage.output_with(params),
            unjudged=unjudged,
            moved=moved or stage.moves_frames(params),
            beside=step.beside,
            base=next((e for e, one in suite.stages.items() if one.version_of == name), None),
            repeats=settings["repeats"],
        )

    def trial(self, workers: int, block: int, measured: Set[str]) -> Trial:
        beside = self._beside_trial(workers, block, measured)
        return self.scaled.trial(workers, block).model_copy(update={"beside_trial": beside})

    def _beside_trial(self, workers: int, block: int, measured: Set[str]) -> str | None:
        """Trial whose output that of this one is set beside.

        What the same work gives elsewhere is the same in every block, so once is enough. With the
        base version's it is done a block later, which leaves the order of the two to chance.
        """
        other = self.beside if block == 1 else None
        if self.base is not None and block == min(2, self.repeats):
            other = self.base
        return trial_id(other, workers, 1) if other is not None and other in measured else None


@dataclass(frozen=True)
class Scaled:
    """Trials of one entry at any N: what one of them tells of all others."""

    reference: Trial
    sharing: Sharing
    threads: int | None
    shares_cores: bool
    chunks: int
    grows: bool
    """Whether N workers have N times the frames, or whatever counts as such."""

    @classmethod
    def of(cls, reference: Trial, step: SuiteStage, sweep: Sweep, chunks_per_worker: int) -> Scaled:
        """Trials like one, of an entry of a suite."""
        stage = load_stage(reference.stage)
        return cls(
            reference,
            sharing=stage.sharing(stage.params.model_validate(reference.params)),
            threads=step.cores,
            shares_cores=step.shares_cores,
            # The workers of a gang run at once, so each has one window.
            chunks=1 if reference.layout == "gang" else chunks_per_worker,
            grows=sweep.is_weak or sweep.frameless is not None,
        )

    def trial(self, workers: int, block: int) -> Trial:
        """The trial of N workers in a block."""
        frames = self.reference.windows[-1][1]
        if self.grows:
            frames = frames // self.reference.workers * workers
        return self.reference.model_copy(
            update={
                "id": trial_id(self.reference.entry, workers, block),
                "workers": workers,
                "block": block,
                "threads": self._threads_at(workers),
                "movie_frames": None if self.reference.movie_frames is None else frames,
                "windows": self._windows(frames, workers),
                "beside_trial": None,
            }
        )

    def _windows(self, frames: int, workers: int) -> tuple[tuple[int, int], ...]:
        """Windows of N workers."""
        if self.sharing in {"copies", "ranks"}:
            return ((0, frames),) * workers
        count = 1 if self.sharing == "threads" else min(frames, workers * self.chunks)
        return even_windows(frames, count)

    def _threads_at(self, workers: int) -> int | None:
        """Cores and threads of each of N workers; None is the run's choice."""
        if self.sharing == "threads":
            return workers * (self.threads or 1)
        if self.threads is None or not self.shares_cores:
            return self.threads
        return max(1, self.threads // workers)


def trial_id(entry: str, workers: int, block: int) -> str:
    """Name of a trial."""
    return f"{entry}-n{workers}-b{block}"


def _refuse_windows(
    entry: str, sweep: Sweep, settings: Mapping[str, Any], *, are_ranks: bool
) -> None:
    """Raise where a flag tells of windows, and workers of an entry have none of their own."""
    flags = ["--scaling weak"] if sweep.is_weak else []
    if settings["chunks_per_worker"] > 1:
        flags.append(f"--chunks-per-worker {settings['chunks_per_worker']}")
    if settings["layout"] == "array" and are_ranks:
        flags.append("--layout array")
    if flags:
        raise UserError(
            f"{' and '.join(flags)}: workers of {entry} have no windows of their own, as they are "
            "threads, ranks or copies of one process: leave that out"
        )


def _validated(entry: str, stage: Stage, given: dict[str, JsonValue]) -> StageParams:
    try:
        return stage.params.model_validate(given)
    except ValidationError as error:
        raise UserError(
            f"the parameters of {entry} are wrong: {first_problem(error, stage.params)}"
        ) from error
