"""The subject of an examination: the part of a plan that a machine must carry out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from pyscale.images.catalog import image_for
from pyscale.images.lockfile import ImageFolder
from pyscale.images.pull import with_images_here
from pyscale.planning.plan import Plan
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.resolve_grid import measured_suite, with_system
from pyscale.planning.suite import load_suite
from pyscale.planning.sweep import powers_of_two
from pyscale.settings import Settings
from pyscale_stages.contract import Device, Record, Stage
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.registry import STAGE_NAMES, load_stage


class Entry(Record):
    """One entry of the suite."""

    name: str
    stage: str
    params: dict[str, JsonValue]
    device: Device = Field(description="Where it computes: cpu where it has no other kernel")
    threads: int = Field(description="Cores and threads of each worker")
    gpus: int | Literal["all"] | None = Field(
        None, description="GPUs of each worker where it computes on cuda; None is one"
    )

    @property
    def definition(self) -> Stage:
        """The stage that runs."""
        return load_stage(self.stage)

    @property
    def room_bytes(self) -> int:
        """Most that one worker of it writes into the folder that it measures."""
        stage = self.definition
        return stage.room_bytes(stage.params.model_validate(self.params))


_AS_SET = ("device", "runtime", "cache", "data", "images", "unlocked_images")
_FOLDERS = ("runs_folder", "data_folder", "images_folder")


class Subject(Record):
    """What a suite with its settings asks of a machine."""

    suite: str
    entries: tuple[Entry, ...]
    device: Device = Field(description="Device that was asked for")
    runtime: Literal["native", "apptainer"]
    cache: Literal["cold", "warm", "asis"]
    workers: int = Field(description="Largest number of workers")
    widest: tuple[int, int] = Field(
        description="Workers, and cores of each, of the trial that needs most cores"
    )
    tasks: int = Field(description="Tasks of the whole run")
    data: str = Field(description="Name of the dataset, or path of the movie")
    axes: str | None
    movie: Path | None = Field(description="The movie, where a plan has found it")
    own_data: dict[str, Path | None] = Field(
        default_factory=dict, description="Datasets of entries by name, and where a plan found them"
    )
    reads_movie: bool = Field(True, description="Whether it measures on data at all")
    reads_slides: bool = Field(False, description="Whether these are a folder of slides")
    place: Path | None = Field(None, description="Folder whose storage it measures, where it does")
    runs_folder: Path
    data_folder: Path
    images_folder: Path
    images: dict[str, str] = Field(description="Image of an entry or stage that is not its own")
    unlocked_images: bool

    @classmethod
    def of_plan(cls, plan: Plan) -> Subject:
        """What a plan asks of the machine."""
        settings = plan.settings
        # Backwards, so that the first trial of each entry is the one that stays.
        first = {trial.entry: trial for trial in reversed(plan.trials)}
        order = list(plan.suite.stages)
        return cls(
            suite=plan.suite.name,
            entries=tuple(
                Entry(
                    name=trial.entry,
                    stage=trial.stage,
                    params=trial.params,
                    device=trial.device,
                    threads=plan.threads_of(trial),
                    gpus=trial.gpus,
                )
                for trial in sorted(first.values(), key=lambda trial: order.index(trial.entry))
            ),
            workers=max(trial.processes for trial in plan.trials),
            widest=max(
                ((trial.processes, plan.threads_of(trial)) for trial in plan.trials), key=math.prod
            ),
            tasks=sum(len(trial.tasks) for trial in plan.trials),
            axes=plan.axes,
            movie=plan.movie,
            own_data={own.data: own.movie for own in plan.own_data},
            reads_movie=plan.suite.reads_data,
            reads_slides=plan.suite.data == "slides",
            place=plan.place,
            **{name: settings[name] for name in _AS_SET},
            **{name: Path(settings[name]).absolute() for name in _FOLDERS},
        )

    @classmethod
    def of_suite(cls, suite_name: str, settings: Settings) -> Subject:
        """What a run of a suite would ask of a machine; its movie need not be there."""
        fitting = len(first_threads(usable_cpus())) // settings.cpus_per_worker
        suite = measured_suite(load_suite(suite_name), settings, None)
        suite = with_images_here(suite, ImageFolder(settings.images_folder), pulls=False)
        alone = suite.data == "place"
        workers = settings.workers or ((1,) if alone else powers_of_two(max(1, fitting)))
        dataset, own_data = None, {}
        if suite.reads_data:
            # As many as the largest N needs: no file is opened, as none need be there.
            frames = max(workers) * (suite.frames_per_worker or 1)
            dataset = Dataset(movie=Path(settings.data), frames=frames, axes=settings.axes)
            own_data = {
                name: Dataset(movie=Path(name), frames=frames, truth=Path(name))
                for name in suite.own_data
            }
        if settings.with_system:
            suite = with_system(suite, settings, None)
        plan = make_plan(
            suite,
            dataset,
            run_id="doctor",
            settings=settings.model_dump(mode="json"),
            workers=workers,
            own_data=own_data,
        )
        absent = {"movie": None, "own_data": dict.fromkeys(own_data)}
        return cls.of_plan(plan).model_copy(update=absent)

    @property
    def threads(self) -> list[int]:
        """Threads that tasks set their libraries to, each number once."""
        return sorted({entry.threads for entry in self.entries})

    def image_of(self, entry: Entry) -> str:
        """Name of the image that an entry runs in."""
        stage = entry.definition
        params = stage.params.model_validate(entry.params)
        return image_for(entry.name, stage, params, entry.device, self.images)

    def image_names(self) -> list[str]:
        """Images that the entries run in, each once."""
        inside = (
            entry
            for entry in self.entries
            if entry.stage in STAGE_NAMES and not entry.definition.runs_outside
        )
        return list(dict.fromkeys(map(self.image_of, inside)))
