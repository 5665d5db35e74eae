"""What ranks that wait for each other cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.sites import Site
from pyscale.suite import Suite


def refuse_more_ranks_than_slides(ranks: int, folder: Path, slides: int) -> None:
    """Raise where some rank would have no slide.

    Parameters
    ----------
    ranks : int
        The most of any trial.
    folder : Path
        Of the slides, or the only one.
    slides : int
        How many there are.

    Raises
    ------
    UserError
    """
    if ranks > slides:
        raise UserError(
            f"each of {ranks} ranks loads patches of slides of its own, and {folder} has {slides} "
            f"slide{'s' * (slides != 1)}: ask for fewer --workers, or give more slides"
        )


def refuse_ranks_apart(
    suite: Suite, measured: Set[str], settings: Mapping[str, Any], site: Site | None
) -> None:
    """Raise where ranks that wait for each other would not all run at the same time.

    Parameters
    ----------
    suite : Suite
    measured : set of str
        Its entries that are measured.
    settings : mapping
        The run's.
    site : Site or None
        The cluster that tasks run on; this machine starts all workers of a trial at once.

    Raises
    ------
    UserError
    """
    entries = sorted(measured & suite.rank_entries)
    if not entries:
        return
    entry = entries[0]
    if settings["chunks_per_worker"] > 1:
        shares = entry in suite.reconstruct_entries
        doing = "work on one image" if shares else "load patches, which have no windows"
        raise UserError(
            f"ranks of {entry} {doing}, so --chunks-per-worker "
            f"{settings['chunks_per_worker']} means nothing: leave it out, or set it to 1"
        )
    if settings["layout"] == "array" and site is not None:
        raise UserError(
            f"ranks of {entry} wait for each other, so one job starts all of them, and "
            "--layout array would start each by itself: leave it out, or set it to gang"
        )
