"""A suite: the stages that a run measures, and their inputs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from pyscale.errors import UserError, why_no_name
from pyscale.planning.traits import DATA, measures_alone
from pyscale.resources import shipped
from pyscale.tomlfile import file_of, read_toml, shipped_names
from pyscale_stages.command.params import CommandParams
from pyscale_stages.contract import Device, Record, Slot, Stage
from pyscale_stages.errors import StageError
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import did_you_mean

MOVIE = "movie"
"""The name by which a suite calls the dataset itself."""
PLACE = "place"
"""The name by which a suite calls the folder whose storage is measured."""
TRUTH = "truth"
"""The name by which a suite calls the true labels of a synthetic movie, which a stage may read."""
SLIDES = "slides"
"""The name by which a suite calls the folder of slides that ranks load patches from."""
ALL_CORES: Final = "all"
"""As many threads as a worker's node has cores."""
OWN_STEP = "command"
"""Name of the stage that runs a step of the user's own."""
OF_STEPS = ("files", "tiles")
"""Data that only steps of the user's own share."""
EntryName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
"""Name of an entry; folders and files of a run are named by it."""
GridValue = bool | int | float | str
"""A value of an axis of a grid; "full" stands for None, "all" for every core of a worker's node."""


def _named(name: str) -> str:
    """Refuse a name that tables and sentences cannot show as it is."""
    why_not = why_no_name(name)
    if why_not is not None:
        raise ValueError(f"invalid name: {why_not}; choose another")
    return name


class SuiteStage(Record):
    """One stage of a suite; with the key `command`, a step of the user's own with its keys."""

    stage: str | None = Field(None, description="Stage that runs; None is the entry's own name")
    inputs: dict[str, str] = Field(
        {},
        description='Slot -> "movie", "truth", "place", "slides" or the name of an earlier entry',
    )
    data: str | None = Field(
        None,
        description="Dataset or path that it measures on; None is the run's, or that of the entry "
        "that feeds it",
    )
    params: dict[str, JsonValue] = Field({}, description="Stage parameters")
    truth: Literal["camera", "specimen"] | None = Field(
        None, description="Coordinates in which a synthetic movie's truth fits this output"
    )
    at_least: dict[str, float] = Field(
        {},
        description="Least that measures of quality may be; less is said, and fails --strict",
    )
    at_most: dict[str, float] = Field(
        {}, description="Most that measures of quality may be, like errors"
    )
    device: Device | None = Field(None, description="Where it computes; None is the run's choice")
    threads: Annotated[int, Field(ge=1)] | Literal["all"] | None = Field(
        None,
        description="Cores and threads of each worker: a number, or all of its node; None is the "
        "run's choice",
    )
    gpus: Annotated[int, Field(ge=1)] | Literal["all"] | None = Field(
        None, description="GPUs of each worker where it computes on cuda; None is one"
    )
    shares_cores: bool = Field(
        False,
        description="Whether `threads` are those of the machine, which its ranks share evenly; "
        "filled when all are counted",
    )
    grid: dict[str, tuple[GridValue, ...]] = Field(
        {},
        description="Values of stage parameters, or of device, threads and of versions "
        "(environment, image or python), of which every combination is measured",
    )
    family: str | None = Field(
        None, description="Entry with a grid that this one is a point of; filled by `unfolded`"
    )
    point: dict[str, GridValue] = Field(
        {}, description="Its place in that grid; filled by `unfolded`"
    )
    beside: str | None = Field(
        None,
        description="Entry whose output its own is set beside, without a verdict: the same point "
        "but for the first value of `versus`; filled by `unfolded`",
    )

    @model_validator(mode="before")
    @classmethod
    def _own_step(cls, given: Any) -> Any:
        """Take the keys of a step of the user's own to its parameters."""
        if not isinstance(given, dict) or "command" not in given:
            return given
        of_step = {key: given[key] for key in given.keys() & CommandParams.model_fields.keys()}
        own = given.get("params", {})
        twice = sorted(CommandParams.model_fields.keys() & own) if isinstance(own, dict) else []
        if twice:
            raise ValueError(
                f"params.{twice[0]} has the name of a key of the step: write it beside command, or "
                "give the program's parameter another name"
            )
        rest = {key: value for key, value in given.items() if key not in of_step}
        for key in rest:
            if key not in cls.model_fields:
                known = {*cls.model_fields, *CommandParams.model_fields}
                raise ValueError(f"unknown key {key!r}; {did_you_mean(key, known)}")
        usual = {"stage": OWN_STEP, "inputs": {"input": "movie"}}
        return {**usual, **rest, "params": of_step | own}

    @property
    def cores(self) -> int | None:
        """Cores and threads of each worker, once `unfolded`; None is the run's choice."""
        assert self.threads != ALL_CORES, "unfolding a suite says how many all are"
        return self.threads


class Suite(Record):
    """A named set of stages, in the order of the pipeline."""

    name: Annotated[str, AfterValidator(_named)]
    summary: str = Field(description="What the suite measures, in a line")
    data: Literal["movie", "labels", "files", "tiles", "slides", "place", "phantom"] = Field(
        "movie",
        description="What it measures on: frames of a movie, labels of one, files of a folder, "
        "tiles of an image, a folder of slides, no data but a folder whose storage it measures, or "
        "images that its stages make themselves",
    )
    settings: dict[str, JsonValue] = Field(
        {}, description="Settings that suit it, where nobody gives others"
    )
    frames_per_worker: int | None = Field(
        None, ge=1, description="Frames of each worker at every N; None follows --scaling"
    )
    versus: str | None = Field(
        None, description="Axis of its grid whose other values are compared with the first"
    )
    against: str | None = Field(None, description="Axis of its grid that results are drawn against")
    expected: str | None = Field(
        None, description="Results that a right installation gives: a file of config/validation"
    )
    references: tuple[str, ...] = Field(
        (), description="References that it measures like, which stand beside its results"
    )
    is_own: bool = Field(
        False, description="Whether its file does not come with pyscale; filled when it is read"
    )
    stages: dict[EntryName, SuiteStage]

    def stage_name(self, entry: str) -> str:
        """Name of the stage that an entry runs."""
        return self.stages[entry].stage or entry

    def device_of(self, entry: str, of_run: Device) -> Device:
        """Where an entry computes: on the CPU where its stage knows no other device."""
        wanted = self.stages[entry].device or of_run
        return wanted if wanted in load_stage(self.stage_name(entry)).resources.devices else "cpu"

    def data_of(self, entry: str) -> str | None:
        """Dataset of an entry that has one of its own, or is fed by one that has; else None."""
        step = self.stages[entry]
        feeding = [source for source in step.inputs.values() if source in self.stages]
        return step.data or next(filter(None, map(self.data_of, feeding)), None)

    @property
    def own_data(self) -> tuple[str, ...]:
        """Every dataset that entries name for themselves, in their order."""
        return tuple(dict.fromkeys(step.data for step in self.stages.values() if step.data))

    def entries_that(self, trait: Callable[[str], bool]) -> frozenset[str]:
        """Entries whose stages have a trait (see `pyscale.planning.traits`)."""
        return frozenset(entry for entry in self.stages if trait(self.stage_name(entry)))

    @property
    def unit(self) -> str:
        """What is counted of the data: frames, slides, files or tiles."""
        return DATA[self.data].unit

    @property
    def shares_no_frames(self) -> bool:
        """Whether in every entry N workers are threads of a process, ranks of a task, or copies."""
        own = {step.params.get("split") for step in self.stages.values()}
        apart = {"threads", "ranks", "none"}
        return {*map(self.stage_name, self.stages)} == {OWN_STEP} and own <= apart

    @property
    def reads_data(self) -> bool:
        """Whether it measures on a dataset, and not on a folder or on images of its own."""
        return not DATA[self.data].named

    @property
    def measured_once(self) -> frozenset[str]:
        """Entries that one worker measures once, first: what a node can do."""
        return frozenset() if self.data == "place" else self.entries_that(measures_alone)


def suite_names() -> list[str]:
    """Names of the shipped suites."""
    return shipped_names("suite")


def load_suite(name_or_path: str) -> Suite:
    """Read a shipped suite by name, or a suite of the user's own by path."""
    path = file_of("suite", name_or_path)
    suite = in_its_folder(read_toml("suite", path, Suite), path.parent.absolute())
    problem = next(_problems(suite), None)
    if problem is not None:
        raise UserError(f"the suite {path} {problem}")
    is_own = not path.absolute().is_relative_to(shipped("config"))
    return suite.model_copy(update={"is_own": is_own})


def suite_of(named: str | Suite) -> Suite:
    """A suite that is at hand, or the one of a name or path."""
    return named if isinstance(named, Suite) else load_suite(named)


def in_its_folder(suite: Suite, folder: Path) -> Suite:
    """Let steps of the user's own run in a folder, and find files from it, where they name none."""
    stages = dict(suite.stages)
    for entry, step in suite.stages.items():
        if suite.stage_name(entry) == OWN_STEP:
            files = {
                # Unlike that of Path it takes a name of nobody as it is.
                key: str(folder / os.path.expanduser(str(step.params[key])))  # noqa: PTH111
                for key in ("folder", "environment", "image")
                if step.params.get(key) is not None and "://" not in str(step.params[key])
            }
            params = {"folder": str(folder), **step.params, **files}
            stages[entry] = step.model_copy(update={"params": params})
    return suite.model_copy(update={"stages": stages})


def _problems(suite: Suite) -> Iterator[str]:
    """What is wrong with the stages of a suite, each to follow its name in a sentence."""
    # A suite of the machine reads nothing, and any other may measure a folder beside what it reads.
    outside = {"place": [PLACE], "phantom": [PLACE], "slides": [SLIDES, PLACE]}
    earlier = outside.get(suite.data, [MOVIE, TRUTH, PLACE])
    for entry in suite.stages:
        try:
            stage = load_stage(suite.stage_name(entry))
        except StageError as error:
            yield f"is wrong at stages.{entry}: {error}"
            return
        yield from _of_data(suite, entry, stage)
        yield from _of_inputs(suite, entry, stage, earlier)
        earlier.append(entry)
    if suite.own_data and all(map(suite.data_of, suite.stages)):
        yield (
            f'sets data for every stage and for the run: write data = "{suite.own_data[0]}" below '
            "[settings] instead of one of them"
        )
    for name, count in Counter(Path(name).name for name in suite.own_data).items():
        if count > 1:
            yield f"reads two datasets named {name}: rename one of these files"


def _of_inputs(suite: Suite, entry: str, stage: Stage, earlier: Sequence[str]) -> Iterator[str]:
    inputs = suite.stages[entry].inputs
    slots = {slot.name: slot for slot in stage.inputs}
    for fed, source in inputs.items():
        if fed not in slots:
            yield f"has an unknown input {fed!r} of stages.{entry}; {did_you_mean(fed, slots)}"
        elif source not in earlier:
            yield (
                f"feeds stages.{entry} from {source!r}, which is not an earlier entry; "
                f"{did_you_mean(source, earlier)}"
            )
        elif _wrong_source(source, stage, slots[fed]):
            yield (
                f"feeds {fed!r} of stages.{entry} from {source!r}, but that input is another: "
                f"{slots[fed].help}"
            )
    for name, slot in slots.items():
        if (slot.required or slot.is_place) and name not in inputs:
            yield f"has no input {name!r} for stages.{entry} ({slot.help})"


def _of_data(suite: Suite, entry: str, stage: Stage) -> Iterator[str]:
    """Problems of an entry whose stage needs other data, or that does not read its own."""
    step = suite.stages[entry]
    if stage.work != "each" and suite.data not in stage.data:
        fitting = " or ".join(f'"{data}"' for data in stage.data)
        yield (
            f'has data = "{suite.data}", on which stages.{entry} cannot measure: set data = '
            f"{fitting} above its stages, or put it into another suite"
        )
    split = step.params.get("split")
    if split in OF_STEPS and split != suite.data:
        yield (f'has stages.{entry} with split = "{split}": set data = "{split}" above its stages')
    sources = set(step.inputs.values())
    if step.data is not None and not sources & {MOVIE, TRUTH}:
        yield (
            f"sets data = {step.data!r} for stages.{entry}, but no input of it is "
            '"movie" or "truth": leave data out, or feed it by the data'
        )
    fed = {suite.data_of(source) for source in sources if source in suite.stages}
    fed |= {step.data} if sources & {MOVIE, TRUTH} else set()
    if len(fed) > 1:
        yield f"feeds stages.{entry} from two datasets: give all its inputs the same data"
    if step.data is not None and suite.data not in {"movie", "labels"}:
        yield f"measures {suite.data}, so stages.{entry} cannot have its own data: leave it out"


def _wrong_source(source: str, stage: Stage, slot: Slot) -> bool:
    reads_slides = SLIDES in stage.data and not slot.is_place
    return (source == PLACE) != slot.is_place or (source == SLIDES) != reads_slides
