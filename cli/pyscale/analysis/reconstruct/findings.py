"""Everything that is found of reconstructing over ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyscale.analysis.reconstruct.answers import ReconstructAnswer, reconstruct_answers
from pyscale.analysis.reconstruct.largest import largest_sizes
from pyscale.analysis.reconstruct.points import reconstruct_points
from pyscale.analysis.reconstruct.scaling import component_scaling
from pyscale.analysis.reconstruct.trials import reconstruct_trials

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ReconstructFindings:
    """What reconstructing over ranks tells.

    Attributes
    ----------
    trials, scaling, points, largest : polars.DataFrame
        A row for each trial, for each component of an entry at one N, for each entry at one N, and
        for each N of a family; see `pyscale.analysis.reconstruct.columns`.
    answers : tuple of ReconstructAnswer
        One for each entry of which a trial counts, in the order of the suite.
    """

    trials: pl.DataFrame
    scaling: pl.DataFrame
    points: pl.DataFrame
    largest: pl.DataFrame
    answers: tuple[ReconstructAnswer, ...]


def reconstruct_findings(
    reconstruction: pl.DataFrame, *, count_retried: bool = False, seed: int = 0
) -> ReconstructFindings | None:
    """Find what reconstructing over ranks tells.

    Parameters
    ----------
    reconstruction : polars.DataFrame
        One row an iteration of a rank of a trial, as
        `pyscale.store.reconstructioncolumns.reconstruction_schema` describes it.
    count_retried : bool
        Whether trials that succeeded only when tried again count too.
    seed : int
        Of the resampling for intervals of speedups.

    Returns
    -------
    ReconstructFindings or None
        None where nothing was reconstructed.
    """
    if reconstruction.is_empty():
        return None
    trials = reconstruct_trials(reconstruction, count_retried=count_retried)
    scaling = component_scaling(trials, seed=seed)
    return ReconstructFindings(
        trials=trials,
        scaling=scaling,
        points=reconstruct_points(trials),
        largest=largest_sizes(trials),
        answers=reconstruct_answers(scaling),
    )
