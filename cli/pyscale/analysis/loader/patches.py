"""Whether data sets that are set beside each other delivered the same patches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyscale.analysis.loader.flags import DIFFERS

if TYPE_CHECKING:
    import polars as pl

DECIDING = (
    *("num_workers", "pool_size", "patches_per_slide", "patches_per_visit", "batch_size"),
    *("patch_px", "mpp", "tissue", "checksum_batches"),
)
"""Parameters that decide, beside the seed, which patches the checksum is of. What reads them, how
many batches are kept ready and where they are copied to must change nothing."""


@dataclass(frozen=True)
class SamePatches:
    """Points that must deliver the same patches, as they differ in what makes or reads them.

    Attributes
    ----------
    workers : int
        N.
    stages, makers : tuple of str
        The entries of the suite that loaded anything, and factory and reader of each, like
        "pyscale" or "pyscale (openslide)".
    verdict : {"same", "different", "unknown"}
        Whether they did; unknown where of any no checksum is known or that differs over trials.
    """

    workers: int
    stages: tuple[str, ...]
    makers: tuple[str, ...]
    verdict: Literal["same", "different", "unknown"]


def same_patches(loading: pl.DataFrame, points: pl.DataFrame) -> tuple[SamePatches, ...]:
    """Compare what points with different factories or readers delivered.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank, as `pyscale.store.loadingcolumns.loading_schema` describes it.
    points : polars.DataFrame
        As `pyscale.analysis.loader.points.loader_points` gives them.

    Returns
    -------
    tuple of SamePatches
        One for each N and set of parameters, in the order of `points`.
    """
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
