"""Everything that is found of loading patches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from pyscale.analysis.loader.advice import LoaderAdvice, loader_advices
from pyscale.analysis.loader.flags import DIFFERS
from pyscale.analysis.loader.points import loader_points, loader_ranks
from pyscale.analysis.loader.trials import loader_trials

DECIDING = (
    *("num_workers", "pool_size", "patches_per_slide", "patches_per_visit", "batch_size"),
    *("patch_px", "mpp", "tissue", "checksum_batches"),
)
"""Parameters that decide, beside the seed, which patches the checksum is of. What reads them, how
many batches are kept ready and where they are copied to must change nothing."""


@dataclass(frozen=True)
class SamePatches:
    """Points that must deliver the same patches, as they differ in what makes or reads them."""

    workers: int
    stages: tuple[str, ...]
    # Factory and reader of each, like "pyscale (openslide)".
    makers: tuple[str, ...]
    # Unknown where a checksum is not known, or differs over trials.
    verdict: Literal["same", "different", "unknown"]


def same_patches(loading: pl.DataFrame, points: pl.DataFrame) -> tuple[SamePatches, ...]:
    """Compare what points with different factories or readers delivered."""
    settings = {
        stage: json.loads(text)
        for stage, text in loading.select("stage", "settings").unique().iter_rows()
    }
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points.filter(points["repeats"] > 0).iter_rows(named=True):
        own = settings[point["stage"]]
        key = (point["workers"], *(own.get(name) for name in DECIDING))
        groups.setdefault(key, []).append(point)
    return tuple(
        SamePatches(
            workers=group[0]["workers"],
            stages=tuple(point["stage"] for point in group),
            makers=tuple(_maker(point) for point in group),
            verdict=_verdict([point["checksum"] for point in group]),
        )
        for group in groups.values()
        if len({_maker(point) for point in group}) > 1
    )


def _maker(point: dict[str, Any]) -> str:
    factory, reader = point["factory"], point["reader"]
    return factory if reader == "auto" else f"{factory} ({reader})"


def _verdict(checksums: list[str | None]) -> Literal["same", "different", "unknown"]:
    known = set(checksums) - {None, DIFFERS}
    if len(known) > 1:
        return "different"
    return "same" if known == set(checksums) else "unknown"


@dataclass(frozen=True)
class LoaderFindings:
    """Findings of loading patches.

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

    @property
    def chosen(self) -> dict[str, Any] | None:
        """The advised configuration, else the fastest at the largest N; None without any."""
        rows = self.points.to_dicts()
        if (advice := self.advice) is not None:
            own = (advice.stage, advice.workers)
            return next(row for row in rows if (row["stage"], row["workers"]) == own)
        timed = [row for row in rows if row["patches_per_s"] is not None]
        return max(timed, key=lambda row: (row["workers"], row["patches_per_s"]), default=None)


def loader_findings(
    loading: pl.DataFrame, *, keep: float, count_retried: bool = False
) -> LoaderFindings | None:
    """Find what the loading of patches tells.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank of a trial, as `pyscale.store.ranktables.loading_schema` describes it.
    keep : float
        Share of the largest diversity that is to be kept, above 0 and up to 1.
    count_retried : bool
        Whether trials that succeeded only when tried again count too.

    Returns
    -------
    LoaderFindings or None
        None where nothing was loaded.
    """
    if loading.is_empty():
        return None
    trials = loader_trials(loading, count_retried=count_retried)
    points = loader_points(loading, trials, keep=keep)
    return LoaderFindings(
        points=points,
        ranks=loader_ranks(loading, trials),
        trials=trials,
        keep=keep,
        advices=loader_advices(points),
        same_patches=same_patches(loading, points),
    )
