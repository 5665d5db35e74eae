"""The plan of one entry of a suite: what it reads, its parameters, and its trials at any N."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pyscale.errors import UserError, problems_told
from pyscale.planning.grid import IMAGE, version_at
from pyscale.planning.plan import Trial, TrialInput
from pyscale.planning.suite import MOVIE, SLIDES, TRUTH, Suite, SuiteStage
from pyscale.planning.sweep import FROM_OUTSIDE, Scaled, Sweep, trial_id
from pyscale_stages.contract import Stage, StageParams
from pyscale_stages.inventory import Inventory
from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage
from pyscale_stages.truth.reading import tells


@dataclass(frozen=True)
class Dataset:
    """The movie, or the folder of slides, that a run measures on."""

    movie: Path
    """Its file or folder."""
    frames: int
    """Its length; the number of slides."""
    reading: Reading | None = None
    """What of its files is the movie; None where that is not known, or they are slides."""
    inventory: Inventory | None = None
    """What was found of it, where its files were opened."""
    truth: Path | None = None
    """A synthetic movie's `truth` folder."""
    own_truth: Path | None = None
    """Truth in one of the formats of others, in the movie's own coordinates."""
    shape_yx: tuple[int, int] | None = None
    """Rows and columns of its frames, in pixels, where they are known."""


@dataclass(frozen=True)
class Sources:
    """What no entry of a suite makes."""

    dataset: Dataset | None
    place: Path | None

    def input(self, slot: str, source: str, *, entry: str, coordinates: str | None) -> TrialInput:
        """Input of an entry from outside the suite."""
        if source in {MOVIE, SLIDES}:
            return TrialInput(slot=slot, path=self.dataset.movie if self.dataset else None)
        if source == TRUTH:
            truth = self.truth(coordinates or "camera")
            if truth is None and self.dataset is not None:
                raise UserError(
                    f"{entry} reads true labels, and {self.dataset.movie.name} is not a synthetic "
                    "movie: name another dataset"
                )
            return TrialInput(slot=slot, path=truth and truth / "labels_ch0.ome.tif")
        return TrialInput(slot=slot, path=self.place, is_place=True)

    @property
    def cut(self) -> bool:
        """Whether the movie is a part of its file, whose truth has more frames."""
        reading = self.dataset.reading if self.dataset else None
        return reading is not None and reading.frames is not None

    def truth(self, coordinates: str | None) -> Path | None:
        """A synthetic movie's truth in some coordinates."""
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
        judged_by = load_stage(stage).judged_by
        return (
            "" if judged_by in tells(own) else f"{own.name} holds no {judged_by or 'true images'}"
        )


@dataclass(frozen=True)
class EntryPlan:
    """What is planned of one entry of the suite."""

    scaled: Scaled
    output: str
    unjudged: str
    moved: bool

    @classmethod
    def of(
        cls,
        suite: Suite,
        name: str,
        sources: Sources,
        sweep: Sweep,
        settings: dict[str, Any],
        *,
        earlier: Mapping[str, EntryPlan],
    ) -> EntryPlan:
        """The plan of an entry whose inputs, where entries make them, were planned `earlier`."""
        step = suite.stages[name]
        stage = load_stage(suite.stage_name(name))
        params = _params(stage, name, step, settings["stages"])
        axis, version = version_at(stage, step.point) or (None, None)
        meets = stage.meets_with(params)
        _refuse_runtime(name, stage, params, settings["runtime"], axis)
        if meets or stage.sharing(params) != "windows":
            _refuse_windows(name, sweep, settings)
        moved = any(earlier[one].moved for one in step.inputs.values() if one in earlier)
        if stage.runs_outside:
            _refuse_choice(name, params, sources.dataset)
        truth = sources.truth(step.truth)
        unjudged = sources.why_unjudged(stage.name, step.truth, moved=moved)
        if truth is None and step.truth and not unjudged and sources.dataset:
            truth = sources.dataset.own_truth
        device = suite.device_of(name, settings["device"])
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
            image=str(version) if axis == IMAGE else None,
            interpreter=None if axis == IMAGE else version,
            # What a step of the user's own reads may be no movie, which would tell its length.
            movie_frames=frames if sweep.is_weak or stage.runs_outside or sources.cut else None,
            windows=((0, frames),),
            inputs=tuple(
                sources.input(slot, source, entry=name, coordinates=step.truth)
                if source in FROM_OUTSIDE
                else TrialInput(
                    slot=slot,
                    from_trial=trial_id(source, sweep.feeding, 1),
                    file=earlier[source].output,
                )
                for slot, source in step.inputs.items()
            ),
            data=suite.data_of(name),
            params=params.model_dump(mode="json"),
            truth=truth,
            reference_trial=trial_id(name, feeding, 1),
            compared=stage.is_compared(params) and not sweep.is_weak,
        )
        return cls(
            scaled=Scaled(reference, step, sweep, settings["chunks_per_worker"]),
            output=stage.output_with(params),
            unjudged=unjudged,
            moved=moved or stage.moves_frames(params),
        )


def _refuse_windows(entry: str, sweep: Sweep, settings: Mapping[str, Any]) -> None:
    """Raise where a flag tells of windows, and workers of an entry have none of their own."""
    flags = ["--scaling weak"] if sweep.is_weak and sweep.frameless is None else []
    if settings["chunks_per_worker"] > 1:
        flags.append(f"--set chunks_per_worker={settings['chunks_per_worker']}")
    if flags:
        raise UserError(
            f"{' and '.join(flags)}: workers of {entry} have no windows of their own, as they are "
            "threads, ranks or copies of one process: leave that out"
        )


def _refuse_choice(entry: str, params: StageParams, dataset: Dataset | None) -> None:
    """Raise where something of a movie was chosen that a command opens itself."""
    reading = dataset.reading if dataset else None
    if reading is None or getattr(params, "is_cut", False):
        return
    chosen = {*reading.given} - {"axes", "pattern"}
    if reading.frames is not None and reading.frames[0] == 0:
        # It is given the numbers of its first frame and its end.
        chosen.discard("frames")
    if chosen:
        flags = " and ".join(f"--{name}" for name in sorted(chosen))
        raise UserError(
            f"{flags}: the command of {entry} opens the movie itself; add --set "
            f"{entry}.window=file, so that it is given what was chosen, or leave that out"
        )


def _params(
    stage: Stage,
    entry: str,
    step: SuiteStage,
    overriding: Mapping[str, dict[str, JsonValue]],
) -> StageParams:
    """Parameters of an entry: the suite's, and over them others by stage or entry."""
    given = step.params
    for whose in (stage.name, step.family or entry, entry):
        given = given | overriding.get(whose, {})
    # The place in a grid stays, whatever the settings say of the stage.
    given = given | {axis: step.params[axis] for axis in step.point if axis in step.params}
    with problems_told(stage.params, f"the parameters of {entry} are wrong: "):
        return stage.params.model_validate(given)


def _refuse_runtime(
    entry: str, stage: Stage, params: StageParams, runtime: str, version: str | None
) -> None:
    """Raise where tasks are to run in images and there is none, or a version runs elsewhere."""
    if version is not None and (version == IMAGE) != (runtime != "native"):
        other = "apptainer" if version == IMAGE else "native"
        raise UserError(
            f"{entry}: versions by {version} need --runtime {other}, and this run has {runtime}"
        )
    if runtime == "native":
        return
    if stage.runs_outside and not params.model_dump().get("image"):
        raise UserError(
            f"{entry} is a step without an image, and --runtime {runtime} runs "
            "tasks in images: give it one by --image or the key image, or use --runtime native"
        )
    if stage.image is None and not stage.runs_outside:
        raise UserError(
            f"{stage.name} is a stage of another package, which declares no image of it: use "
            "--runtime native, or declare one (docs/adding-a-stage.md)"
        )
