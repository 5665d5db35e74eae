"""Brings files into the state of the page cache that a test wants, and keeps the proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pyscale_stages.machine.timingtable import WORKER
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState
from pyscale_stages.storage.params import Mode

RESIDENCY = "residency.parquet"
_TYPES = {
    WORKER: "Int64",
    "test": "String",
    "repeat": "Int64",
    "workers": "Int64",
    "mode": "String",
    "file": "String",
    "size_bytes": "Int64",
    "resident_before_bytes": "Int64",
    "resident_after_bytes": "Int64",
    "method": "String",
    "state": "String",
    "reason": "String",
}


@dataclass(frozen=True)
class Proof:
    """State of every file that a test reads."""

    mode: Mode
    files: tuple[Eviction, ...]

    @property
    def state(self) -> CacheState | Literal["direct"]:
        """The least proved of the files' states; direct where the page cache is passed by."""
        if self.mode == "direct":
            return "direct"
        states = {file.state for file in self.files}
        if self.mode == "cold":
            return min(states, key=LEAST_PROVED_FIRST.index)
        # As with inputs: a file that is not kept in memory makes a test no warm one.
        return "warm" if states == {"warm"} else "unsupported"

    @property
    def all_cold(self) -> bool:
        """Whether nothing of any file is in the page cache, as far as can be proved."""
        return all(file.state == "verified-cold" for file in self.files)

    @property
    def details(self) -> dict[str, float]:
        """Counts of the proof, for a timing."""
        counts: dict[str, float] = {
            "files": len(self.files),
            "files_verified_cold": sum(file.state == "verified-cold" for file in self.files),
        }
        known = [file.after.resident_bytes for file in self.files]
        if None not in known:
            counts["resident_before_bytes"] = sum(found or 0 for found in known)
        return counts


def prepare(files: Sequence[Path], mode: Mode) -> Proof:
    """Drive files out of the page cache, or read them into it, and look what came of it.

    Files that are read past the page cache are driven out as well: pages that it holds would
    have to be written or dropped first, which is not the storage's time.
    """
    if mode == "warm":
        return Proof(mode, tuple(_warmed(path) for path in files))
    return Proof(mode, pagecache.evict_all(files))


def resident_bytes(files: Sequence[Path]) -> int:
    """Bytes of files that are known to lie in the page cache."""
    return sum(pagecache.probe(path).resident_bytes or 0 for path in files)


def _warmed(path: Path) -> Eviction:
    before, after = pagecache.probe(path), pagecache.warm(path)
    return Eviction(
        path=path,
        node=node_name(),
        before=before,
        after=after,
        state=pagecache.state_of(after),
        reason=after.reason,
    )


def residency_table(proofs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Make one row of each proof."""
    schema = {name: getattr(pl, kind) for name, kind in _TYPES.items()}
    return pl.DataFrame(proofs, schema=schema).with_columns(pl.lit(0, pl.Int64).alias(WORKER))
