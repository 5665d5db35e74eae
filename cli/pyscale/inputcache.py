"""Brings the inputs of a trial to the asked page-cache state, and says what could be proved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pyscale.store.provenance import files_of
from pyscale.store.records import TrialCache
from pyscale_stages.contract import CacheState
from pyscale_stages.measure import pagecache

LEAST_PROVED_FIRST: tuple[CacheState, ...] = (
    "unsupported",
    "warm",
    "evicted-unverified",
    "verified-cold",
)


def bring_inputs_to(asked: Literal["cold", "warm", "asis"], inputs: Sequence[Path]) -> TrialCache:
    """Evict, read or only look at every file of the inputs, on the node that this runs on.

    The trial's state is that of the file of which least was proved. A file that could not be
    kept in memory as a whole makes a warm trial "unsupported".

    Parameters
    ----------
    asked : {"cold", "warm", "asis"}
    inputs : sequence of Path
        Files, or folders that stand for the files in them.
    """
    files = [file for path in inputs for file in files_of(path)]
    if asked == "cold":
        evictions = pagecache.evict_all(files)
        states = {eviction.state for eviction in evictions}
        least = next(state for state in LEAST_PROVED_FIRST if state in states)
        return TrialCache(asked=asked, state=least, evictions=evictions)
    if asked == "warm":
        read = tuple(pagecache.warm(file) for file in files)
        whole = all(residency.resident_bytes == residency.size_bytes for residency in read)
        return TrialCache(asked=asked, state="warm" if whole else "unsupported", files=read)
    return TrialCache(asked=asked, state="asis", files=tuple(map(pagecache.probe, files)))
