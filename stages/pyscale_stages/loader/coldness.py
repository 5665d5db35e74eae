"""Slides out of the page cache, so that timed batches come from storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pyscale_stages.measure.pagecache import evict_all
from pyscale_stages.residency import CacheState

_LEAST_PROVED_FIRST: tuple[CacheState, ...] = (
    "unsupported",
    "warm",
    "evicted-unverified",
    "verified-cold",
)


def evict_slides(slides: Iterable[str]) -> CacheState:
    """Drive slides out of the page cache of this node.

    Returns
    -------
    CacheState
        Of the file of which least was proved.
    """
    files = [file for slide in slides for file in _files_of(Path(slide))]
    states = (eviction.state for eviction in evict_all(files))
    return min(states, key=_LEAST_PROVED_FIRST.index, default="unsupported")


def _files_of(slide: Path) -> Iterator[Path]:
    """Files of a slide: of an OME-Zarr image, or of one with its tiles in a folder beside it."""
    folder = slide if slide.is_dir() else slide.with_suffix("")
    if not slide.is_dir():
        yield slide
    if folder.is_dir():
        yield from sorted(path for path in folder.rglob("*") if path.is_file())
