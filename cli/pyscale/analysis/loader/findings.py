"""Everything that is found of loading patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyscale.analysis.loader.advice import LoaderAdvice, loader_advices
from pyscale.analysis.loader.patches import SamePatches, same_patches
from pyscale.analysis.loader.points import loader_points
from pyscale.analysis.loader.ranks import loader_ranks
from pyscale.analysis.loader.trials import loader_trials

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class LoaderFindings:
    """What the loading of patches tells.

    Attributes
    ----------
    points, ranks, trials : polars.DataFrame
        A row for each configuration, for each of its ranks and for each trial; see
        `pyscale.analysis.loader.columns`.
    keep : float
        Share of the largest diversity that was to be kept.
    advices : tuple of LoaderAdvice
        One for each set of comparable points, by rising N.
    same_patches : tuple of SamePatches
        Whether different factories and readers delivered the same patches.
    """

    points: pl.DataFrame
    ranks: pl.DataFrame
    trials: pl.DataFrame
    keep: float
    advices: tuple[LoaderAdvice, ...]
    same_patches: tuple[SamePatches, ...]

    @property
    def advice(self) -> LoaderAdvice | None:
        """The advice for the most ranks; None where no diversity is known."""
        return max(self.advices, key=lambda one: one.workers, default=None)


def loader_findings(
    loading: pl.DataFrame, *, keep: float, count_retried: bool = False, seed: int = 0
) -> LoaderFindings | None:
    """Find what the loading of patches tells.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank of a trial, as `pyscale.store.loadingcolumns.loading_schema` describes it.
    keep : float
        Share of the largest diversity that is to be kept, above 0 and up to 1.
    count_retried : bool
        Whether trials that succeeded only when tried again count too.
    seed : int
        Of the resampling for intervals of quotients.

    Returns
    -------
    LoaderFindings or None
        None where nothing was loaded.
    """
    if loading.is_empty():
        return None
    trials = loader_trials(loading, count_retried=count_retried)
    points = loader_points(loading, trials, keep=keep, seed=seed)
    return LoaderFindings(
        points=points,
        ranks=loader_ranks(loading, trials),
        trials=trials,
        keep=keep,
        advices=loader_advices(points),
        same_patches=same_patches(loading, points),
    )
