"""A suite: the stages that a run measures, and what feeds each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from pyscale.errors import UserError
from pyscale.tomlfile import file_of, read_toml, shipped_names
from pyscale_stages.contract import Record
from pyscale_stages.errors import StageError
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import did_you_mean

Layout = Literal["array", "gang"]
"""An array of independent tasks, or one allocation with a rank for each worker."""
MOVIE = "movie"
"""The name by which a suite calls the dataset itself."""


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


class Suite(Record):
    """A named set of stages, in the order of the pipeline."""

    name: str
    summary: str = Field(description="What the suite measures, in a line")
    data: Literal["movie", "labels"] = Field(
        "movie", description="What the dataset must hold: frames of a movie, or labels of one"
    )
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
