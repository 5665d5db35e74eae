"""Everything that a report shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.drift import Drift
from pyscale.analysis.fits import CurveFits
from pyscale.analysis.requests import Request
from pyscale.report.context import ReportContext

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Results:
    """What the analysis found, and where the numbers come from.

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
        What limits each configuration beyond the base case, the invalid ones too.
    choices : list of Choice
        The N to request, for each curve and objective.
    requests : list of Request
        What to ask for at the knee of each curve.
    context : ReportContext
        Where the numbers come from.
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
