"""Brings the inputs of a trial to the asked page-cache state, and says what could be proved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pyscale.store.records import TrialCache
from pyscale_stages.framefiles import files_of
from pyscale_stages.measure import pagecache
from pyscale_stages.reading import Reading
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState


def bring_inputs_to(
    asked: Literal["cold", "warm", "asis"], inputs: Sequence[Path], reading: Reading | None = None
) -> TrialCache:
    """Evict, read or only look at every file of the inputs; least proved of all is their state.

    `reading`: what of the first input is read, where that is a movie.
    """
    files = [
        file
        for place, path in enumerate(inputs)
        for file in _files(path, reading if place == 0 else None)
    ]
    if asked == "cold":
        evictions = pagecache.evict_all(files)
        states = [eviction.state for eviction in evictions]
        least = min(states, key=LEAST_PROVED_FIRST.index, default="unsupported")
        return TrialCache(asked=asked, state=least, evictions=evictions)
    if asked == "warm":
        read = tuple(pagecache.warm(file) for file in files)
        whole = all(residency.resident_bytes == residency.size_bytes for residency in read)
        state: CacheState = "warm" if read and whole else "unsupported"
        return TrialCache(asked=asked, state=state, files=read)
    return TrialCache(asked=asked, state="asis", files=tuple(map(pagecache.probe, files)))


def _files(path: Path, reading: Reading | None) -> list[Path]:
    try:
        return files_of(path, reading)
    except OSError:
        # A folder that cannot be listed stands for itself, and has no page cache to speak of.
        return [path]
