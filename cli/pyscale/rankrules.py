"""What ranks that load patches and wait for each other cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.sites import Site


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
    entries: Sequence[str], settings: Mapping[str, Any], site: Site | None
) -> None:
    """Raise where ranks that wait for each other would not all run at the same time.

    Parameters
    ----------
    entries : sequence of str
        Those of the suite that are measured and whose workers are ranks.
    settings : mapping
        The run's.
    site : Site or None
        The cluster that tasks run on; this machine starts all workers of a trial at once.

    Raises
    ------
    UserError
    """
    if not entries:
        return
    if settings["chunks_per_worker"] > 1:
        raise UserError(
            f"ranks of {entries[0]} load patches, which have no windows, so --chunks-per-worker "
            f"{settings['chunks_per_worker']} means nothing: leave it out, or set it to 1"
        )
    if settings["layout"] == "array" and site is not None:
        raise UserError(
            f"ranks of {entries[0]} wait for each other, so one job starts all of them, and "
            "--layout array would start each by itself: leave it out, or set it to gang"
        )
