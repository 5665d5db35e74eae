"""Everything that a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import polars as pl

from pyscale.analysis.advice import Choice, Experiment
from pyscale.analysis.causes import Limits
from pyscale.analysis.findings import Findings
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.laws import CurveFits
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale.analysis.referencemodel import Referred
from pyscale.analysis.resource_request import Request
from pyscale.report.comparison import VersionComparison
from pyscale.report.context import ReportContext
from pyscale.report.page.pictures import Pictures
from pyscale.validation.judging import ValidationFindings

F = TypeVar("F", bound=Findings)
C = TypeVar("C", bound=OfCurve)


@dataclass(frozen=True)
class Results:
    """Findings of the analysis, and the origin of the numbers."""

    configurations: pl.DataFrame
    """A row a stage and worker count, with what it cost (see `pyscale.analysis.spending`)."""
    trials: pl.DataFrame
    losses: pl.DataFrame
    """Where the worker-seconds went."""
    fits: list[CurveFits]
    """Scaling laws fitted to each curve."""
    limits: list[Limits]
    """Of each configuration beyond the baseline, the invalid ones too."""
    choices: list[Choice]
    """The N to request, for each curve and objective."""
    requests: list[Request]
    """What to ask for at the knee of each curve."""
    context: ReportContext
    interleaved: bool = True
    """Whether trials of a block ran close together in time, so that blocks are resampled."""
    timeline: pl.DataFrame | None = None
    """What every task did when (see `pyscale.analysis.timeline`), where phases are known."""
    references: list[Referred[pl.DataFrame]] = field(default_factory=list)
    """What others measured of the same stages over numbers of workers."""
    kinds: tuple[Findings, ...] = ()
    """What every kind of work tells beside stages over N: each grid, tests, ranks."""
    beside: Mapping[str, Sequence[Referred[Any]]] = field(default_factory=dict)
    """By the kind of the findings: what others measured of the same work. Of a grid it is findings,
    with the stages named as here, else rows of a table."""
    validation: ValidationFindings | None = None
    """Whether the installation computes what it should, where the suite expects anything."""
    next_runs: tuple[Experiment, ...] = ()
    """Runs that would make the choice of best value surer, the most needed first."""
    versions: VersionComparison | None = None
    """What the two versions that the run measured show."""
    measured: pl.DataFrame | None = None
    """Numbers that stages measure of their work; None of a table."""
    pictures: Pictures | None = None
    """What it computed, in small, where it kept outputs of the kind."""

    @property
    def apart(self) -> frozenset[str]:
        """Entries of whose wall times no speedup over N is told."""
        return frozenset[str]().union(*(one.entries for one in self.kinds if one.work != "split"))

    def of(self, kind: type[F]) -> F | None:
        """Findings of one kind of work; None where the run has none."""
        return next(iter(self.every(kind)), None)

    def every(self, kind: type[F]) -> list[F]:
        """All findings of one kind: a run may have several grids."""
        return [one for one in self.kinds if isinstance(one, kind)]

    def about_workers(self) -> Results:
        """Leave out entries without a speedup over N: points of grids at one N, and `apart`.

        Entries without a grid stay, whatever N they have, and so do points at several N. N workers
        that test a machine or load patches share no work: each does all of it. Ranks that
        reconstruct an image share it in every iteration, which is reported by component.
        """
        points = {
            point
            for grid in self.every(GridFindings)
            for point in grid.points.select("suite", "stage").iter_rows()
        }
        counts = pl.col("workers").n_unique()
        curves = self.configurations.group_by(GROUP, maintain_order=True).agg(counts)
        gone = [
            (suite, stage, device)
            for suite, stage, device, several in curves.iter_rows()
            if stage in self.apart or (several == 1 and (suite, stage) in points)
        ]
        if not gone:
            return self
        out = pl.DataFrame(gone, curves.select(GROUP).schema, orient="row")

        def other(table: pl.DataFrame) -> pl.DataFrame:
            return table.join(out, on=GROUP, how="anti", nulls_equal=True, maintain_order="left")

        def of_own(found: list[C]) -> list[C]:
            return [one for one in found if tuple(one.curve.values()) not in gone]

        trials, timeline = other(self.trials), self.timeline
        if timeline is not None:
            timeline = timeline.filter(pl.col("trial").is_in(trials["trial"].to_list()))
        return replace(
            self,
            configurations=other(self.configurations),
            trials=trials,
            losses=other(self.losses),
            timeline=timeline,
            fits=of_own(self.fits),
            limits=of_own(self.limits),
            choices=of_own(self.choices),
            requests=of_own(self.requests),
        )

    def without_apart(self) -> pl.DataFrame:
        """Configurations but those of `apart`, whose outputs and wall times are told elsewhere."""
        return self.configurations.filter(~pl.col("stage").is_in(list(self.apart)))
