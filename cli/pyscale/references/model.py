"""A reference: results that were measured elsewhere, and all that is known about how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from pyscale_stages.contract import Record

if TYPE_CHECKING:
    import polars as pl


class Reference(Record):
    """Results of another machine."""

    name: str = Field(description="Short name, as its files are called")
    title: str = Field(description="What was measured, for people, as a legend names it")
    source: str = Field(description="Who published it where, as one would cite it")
    url: str | None = Field(None, description="Where it can be read")
    measured: str | None = Field(None, description="Date or year of the measurement")
    hardware: dict[str, str] = Field(description="Property and value, in the order to print")
    caveats: tuple[str, ...] = Field(description="What a reader must know, a sentence each")
    sweep: str = Field(description="The column of its table that varies, such as workers")
    stages: dict[str, str] = Field(
        description="Names of stages in its table, and the stage of pyscale that each one is"
    )
    work_id: str | None = Field(
        None,
        description="Fingerprint of the input and parameters; times of equal ones may be compared",
    )


@dataclass(frozen=True)
class Referred:
    """A reference with its numbers, as far as they match what is reported.

    Attributes
    ----------
    reference : Reference
    configurations : polars.DataFrame
        One row for each stage and worker count, as `pyscale.analysis.scaling.configurations`
        gives it; `stage` is the name in the report that it stands beside, and `label` its own.
    """

    reference: Reference
    configurations: pl.DataFrame
