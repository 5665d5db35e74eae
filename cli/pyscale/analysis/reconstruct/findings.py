"""Everything that is found of reconstructing over ranks."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pyscale.analysis.reconstruct.answers import ReconstructAnswer, reconstruct_answers
from pyscale.analysis.reconstruct.points import largest_sizes, reconstruct_points
from pyscale.analysis.reconstruct.scaling import component_scaling
from pyscale.analysis.reconstruct.trials import reconstruct_trials


@dataclass(frozen=True)
class ReconstructFindings:
    """Findings of reconstructing over ranks.

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
    reconstruction: pl.DataFrame, *, count_retried: bool = False
) -> ReconstructFindings | None:
    """Find what reconstructing over ranks tells.

    Parameters
    ----------
    reconstruction : polars.DataFrame
        One row an iteration of a rank of a trial, as
        `pyscale.store.ranktables.reconstruction_schema` describes it.
    count_retried : bool
        Whether trials that succeeded only when tried again count too.

    Returns
    -------
    ReconstructFindings or None
        None where nothing was reconstructed.
    """
    if reconstruction.is_empty():
        return None
    trials = reconstruct_trials(reconstruction, count_retried=count_retried)
    scaling = component_scaling(trials)
    return ReconstructFindings(
        trials=trials,
        scaling=scaling,
        points=reconstruct_points(trials),
        largest=largest_sizes(trials),
        answers=reconstruct_answers(scaling),
    )
