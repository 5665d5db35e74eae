"""A reference: results that were measured elsewhere, and all that is known about how."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import polars as pl
from pydantic import Field, field_validator

from pyscale.analysis.declared import REAL, TEXT, WHOLE, columns
from pyscale.analysis.grid.findings import GridFindings, grid_findings_of_table
from pyscale.analysis.grid.points import SIZE
from pyscale.analysis.machine.findings import machine_tests
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times
from pyscale_stages.contract import Record
from pyscale_stages.registry import stage_names
from pyscale_stages.wording import did_you_mean

NAME_PATTERN = r"[a-z0-9][a-z0-9_-]*"
WORKERS = "workers"
"""The sweep whose table is one of wall times, as `pyscale report --table` reads them."""
TESTS = "test"
"""The sweep whose table is one of tests of a machine, as a run of the suite system has them."""
NUM_WORKERS = "num_workers"
"""The sweep whose table is one of rates of loading, by loader processes of a rank."""
GPUS = "gpus"
"""The sweep whose table is one of speedups of a reconstruction, by ranks."""
NOT_TOLD = "not told"
"""Value of what a source leaves open."""
T = TypeVar("T")


class Reference(Record):
    """Results of another machine."""

    name: str = Field(
        pattern=f"^{NAME_PATTERN}$", description="Short name, as its files are called"
    )
    title: str = Field(description="What was measured, for people, as a legend names it")
    source: str = Field(description="Who published it where, as one would cite it")
    url: str | None = Field(None, pattern=r"^https?://", description="Where it can be read")
    measured: str | None = Field(None, description="Date or year of the measurement")
    figures: str = Field(description="What the numbers of its table are, as a sentence begins")
    hardware: dict[str, str] = Field(
        min_length=1, description="Property and value, in the order to print"
    )
    caveats: tuple[str, ...] = Field(
        min_length=1, description="What a reader must know, a sentence each"
    )
    sweep: str = Field(description="The column of its table that varies, such as workers")
    stages: dict[str, str] = Field(
        description="Names of stages in its table, and the stage of pyscale that each one is"
    )
    steps: dict[str, str] = Field(
        default_factory=dict,
        description="Names of steps of tests in its table, and the step of pyscale that each one "
        "is, where they differ",
    )
    work_id: str | None = Field(
        None,
        description="Fingerprint of the input and parameters; times of equal ones may be compared",
    )
    size_ids: dict[str, str] = Field(
        default_factory=dict,
        description="By stage of its table: fingerprint of how large the images and maps of its "
        "tests are; times of equal amounts of equal ones may be compared",
    )

    @field_validator("stages")
    @classmethod
    def _known_stages(cls, value: dict[str, str]) -> dict[str, str]:
        for stage in value.values():
            if stage not in stage_names():
                raise ValueError(f"unknown stage {stage!r}; {did_you_mean(stage, stage_names())}")
        return value

    def is_same_work(self, work_id: str | None, sizes: Collection[str] = ()) -> bool:
        """Whether its work has this fingerprint, or tests of it one of these sizes."""
        same = self.work_id is not None and self.work_id == work_id
        return same or not set(sizes).isdisjoint(self.size_ids.values())

    @property
    def has_wall_times(self) -> bool:
        """Whether its table is one of wall times by N, from which speedups follow."""
        return self.sweep == WORKERS

    def compares_devices(self, table: pl.DataFrame) -> bool:
        """Whether its table is one of times by device and size, from which ratios follow."""
        return self.sweep == SIZE and "device" in table.columns


TEST_TABLE = columns(
    (TEXT, "stage device test timing"),
    (WHOLE, "workers worker at_once repeat"),
    (REAL, "wall_s amount"),
    (TEXT, "unit bottleneck cache"),
)
"""A table of tests: `timing` is a step inside the test, empty is the whole of it; an empty `device`
is the processor; `workers` are processes on a node at the same time, each by itself, and `worker`
is which of them; `at_once` are readers or threads; rows of one `repeat` are no independent
measurements. All but test and time may be left out."""
STANDARD: dict[str, Any] = {"workers": 1, "worker": 0, "at_once": 1, "repeat": 0}
"""What a column holds that a table of tests does not have, or leaves open."""


@dataclass(frozen=True)
class Loaded:
    """A reference with its table: as its CSV has it, in the types of what it is a sweep of."""

    reference: Reference
    table: pl.DataFrame

    def configurations(self, stages: Collection[str] | None = None) -> pl.DataFrame | None:
        """What follows from its wall times; None where it has none."""
        if not self.reference.has_wall_times:
            return None
        wanted = self.table["stage"].unique() if stages is None else list(stages)
        table = self.table.filter(self.table["stage"].is_in(wanted))
        trials = trials_from_wall_times(table, suite=self.reference.name)
        return configurations(trials, interleaved=is_interleaved(table))

    def grids(self) -> tuple[GridFindings, ...]:
        """What follows from its times by device and size, a stage each; none where it has none."""
        if not self.reference.compares_devices(self.table):
            return ()
        return grid_findings_of_table(self.table, self.reference.name)

    def tests(self) -> pl.DataFrame | None:
        """What follows from its tests of a machine, as of a run's; None where it has none."""
        if self.reference.sweep != TESTS:
            return None
        known = self.table.with_columns(
            pl.lit(None, kind).alias(name)
            for name, kind in TEST_TABLE.items()
            if name not in self.table.columns
        ).with_columns(pl.col(name).fill_null(usual) for name, usual in STANDARD.items())
        kinds = self.reference.stages
        return machine_tests(
            known.select(
                *("stage", "workers", "test", "at_once", "wall_s", "amount"),
                *("unit", "bottleneck", "cache"),
                kind=pl.col("stage").replace_strict(kinds, default=None, return_dtype=TEXT),
                task=pl.col("worker").cast(TEXT),
                trial=pl.col("repeat").cast(TEXT),
                node=pl.lit(None, TEXT),
                hardware=pl.lit(None, TEXT),
                # In the timings of a run the processor is a device without a name.
                device=pl.col("device").replace(["", "cpu"], None),
                step=pl.col("timing").replace("", None).replace(self.reference.steps),
                details=pl.lit("{}"),
                why_not=pl.lit(""),
            )
        )


class Referred(NamedTuple, Generic[T]):
    """What of a reference matches what is reported."""

    reference: Reference
    found: T
