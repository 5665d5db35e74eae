"""Everything that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.drift import Drift
from pyscale.analysis.experiments import Experiment
from pyscale.analysis.fits import CurveFits
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.work import RankFindings
from pyscale.analysis.requests import Request
from pyscale.references.model import Referred
from pyscale.report.comparison import VersionComparison
from pyscale.report.context import ReportContext
from pyscale.report.page.pictures import Pictures
from pyscale.validation.findings import ValidationFindings

F = TypeVar("F", bound=RankFindings)


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
    grids : tuple of GridFindings
        What each grid of points tells: of devices and sizes, say; none where there is no grid.
    grid_references : list of Referred
        What others measured of the same stages against the same axis, with the stages named as
        here; one for each stage of a reference.
    machine : MachineFindings or None
        What the tests of the machine itself tell; None where the run has none.
    alone : frozenset of str
        Entries of the suite that measure the machine and read no movie: they are in the tables of
        trials and configurations, but N workers share no work there, so that nothing is said of
        how they scale.
    test_references : list of Referred
        What others measured of the same tests of a machine.
    test_sizes : mapping of str to str
        By entry that measures the machine: fingerprint of how large what it works on is, by which
        equal work is told (see `pyscale.references.workid.size_ids_of`).
    ranks : tuple of RankFindings
        What ranks told that work together, one for each kind of such work. Wall times of their
        entries say nothing of how they scale: N ranks deliver N times as many patches, and of an
        image that ranks reconstruct together an iteration counts, by its components.
    rank_references : mapping of str to list of Referred
        By the kind of the findings: what others measured of loading with the same settings, or of
        the same problems (see `pyscale.references.matching` and
        `pyscale.references.matchingranks`).
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
    grids: tuple[GridFindings, ...] = ()
    grid_references: list[Referred[GridFindings]] = field(default_factory=list)
    machine: MachineFindings | None = None
    alone: frozenset[str] = frozenset()
    test_references: list[Referred[pl.DataFrame]] = field(default_factory=list)
    test_sizes: Mapping[str, str] = field(default_factory=dict)
    ranks: tuple[RankFindings, ...] = ()
    rank_references: Mapping[str, list[Referred[pl.DataFrame]]] = field(default_factory=dict)
    validation: ValidationFindings | None = None
    next_runs: tuple[Experiment, ...] = ()
    versions: VersionComparison | None = None
    starts: pl.DataFrame | None = None
    measured: pl.DataFrame | None = None
    pictures: Pictures | None = None

    @property
    def apart(self) -> frozenset[str]:
        """Entries of whose wall times no speedup over N is told."""
        return self.alone.union(*(one.entries for one in self.ranks))

    def of(self, kind: type[F]) -> F | None:
        """Findings of one kind of ranks' work; None where the run has none."""
        return next((one for one in self.ranks if isinstance(one, kind)), None)
