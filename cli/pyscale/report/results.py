"""Everything that a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import polars as pl

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.drift import Drift
from pyscale.analysis.experiments import Experiment
from pyscale.analysis.findings import Findings
from pyscale.analysis.fits import CurveFits
from pyscale.analysis.requests import Request
from pyscale.references.model import Referred
from pyscale.report.comparison import VersionComparison
from pyscale.report.context import ReportContext
from pyscale.report.page.pictures import Pictures
from pyscale.validation.findings import ValidationFindings

F = TypeVar("F", bound=Findings)


@dataclass(frozen=True)
class Results:
    """Findings of the analysis, and the origin of the numbers.

    Attributes
    ----------
    configurations : polars.DataFrame
        One row for each stage and worker count, with what it cost (see
        `pyscale.analysis.spending`).
    trials : polars.DataFrame
        One row for each trial.
    losses : polars.DataFrame
        Where the worker-seconds went.
    fits : list of CurveFits
        Scaling laws fitted to each curve.
    drifts : list of Drift
        What changed over the run; empty where the order of trials is not known.
    limits : list of Limits
        Limits of each configuration beyond the baseline, the invalid ones too.
    choices : list of Choice
        The N to request, for each curve and objective.
    requests : list of Request
        What to ask for at the knee of each curve.
    context : ReportContext
        Where the numbers come from.
    interleaved : bool
        Whether trials of the same block ran close together in time, so that blocks are resampled.
    timeline : polars.DataFrame or None
        What every task did when (see `pyscale.analysis.timeline`); None where no phases are known.
    references : list of Referred
        What others measured of the same stages over numbers of workers.
    kinds : tuple of Findings
        What every kind of work tells beside stages over N: each grid of points, tests of the
        machine, ranks that work together.
    beside : mapping of str to list of Referred
        By the kind of the findings: what others measured of the same work (see
        `pyscale.references.matching` and `pyscale.references.matchingranks`). Of a grid it is
        findings, with the stages named as here, else rows of a table.
    validation : ValidationFindings or None
        Whether the installation computes what it should; None where the suite expects nothing.
    next_runs : tuple of Experiment
        Runs that would make the choice of best value surer, the most needed first.
    versions : VersionComparison or None
        What the two versions that the run measured show; None where it measured one.
    starts : polars.DataFrame or None
        Warm workers beside new processes (see `pyscale.analysis.starts`); None of a table.
    measured : polars.DataFrame or None
        Numbers that stages measure of their work (see `pyscale.analysis.measured`); None of a
        table.
    pictures : Pictures or None
        What it computed, in small; None where it kept no outputs of the kind.
    """

    configurations: pl.DataFrame
    trials: pl.DataFrame
    losses: pl.DataFrame
    fits: list[CurveFits]
    drifts: list[Drift]
    limits: list[Limits]
    choices: list[Choice]
    requests: list[Request]
    context: ReportContext
    interleaved: bool = True
    timeline: pl.DataFrame | None = None
    references: list[Referred[pl.DataFrame]] = field(default_factory=list)
    kinds: tuple[Findings, ...] = ()
    beside: Mapping[str, Sequence[Referred[Any]]] = field(default_factory=dict)
    validation: ValidationFindings | None = None
    next_runs: tuple[Experiment, ...] = ()
    versions: VersionComparison | None = None
    starts: pl.DataFrame | None = None
    measured: pl.DataFrame | None = None
    pictures: Pictures | None = None

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
