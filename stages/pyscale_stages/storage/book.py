"""What a test reads, how, and the proof of what was in the page cache before it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pyscale_stages.measure import pagecache
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState
from pyscale_stages.storage.stage import Mode
from pyscale_stages.task import Task
from pyscale_stages.timing import Bottleneck, Timing

DROP_CACHES = Path("/proc/sys/vm/drop_caches")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


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


def prepare(files: Sequence[Path], mode: Mode, *, drop_caches: bool = False) -> Proof:
    """Drive files out of the page cache, also for direct reads, or read them in; then look."""
    if mode == "warm":
        return Proof(mode, tuple(_warmed(path) for path in files))
    if drop_caches:
        os.sync()
        DROP_CACHES.write_text("1")
    return Proof(mode, pagecache.evict_all(files))


def resident_bytes(files: Sequence[Path]) -> int:
    """Bytes of files that are known to lie in the page cache."""
    return sum(pagecache.probe(path).resident_bytes or 0 for path in files)


def _warmed(path: Path) -> Eviction:
    before, after = pagecache.probe(path), pagecache.warm(path)
    kept: dict[str, Any] = {"before": before, "after": after, "state": pagecache.state_of(after)}
    return Eviction(path=path, node=node_name(), reason=after.reason, **kept)


def add(task: Task, test: str, wall_s: float | None, **more: Any) -> None:
    """Keep a timing; one without a time says in `why_not` why it cannot run here."""
    task.add_sample(Timing(test=test, wall_s=wall_s, **more))


@dataclass(frozen=True)
class Case:
    """One repeat of one test that reads files."""

    name: str
    mode: Mode
    repeat: int
    workers: int = 1

    @property
    def test(self) -> str:
        """Name in the record, which tells how files are read, and not what came of it."""
        return f"{self.name}_{self.mode}"

    @property
    def timing(self) -> dict[str, Any]:
        """What its timing says of it beside what came out."""
        bottleneck: Bottleneck = "memory" if self.mode == "warm" else "storage"
        return {"repeat": self.repeat, "workers": self.workers, "bottleneck": bottleneck}


@dataclass(frozen=True)
class FileSet:
    """Files that are read, and the checksums that say what was written into them."""

    folder: Path
    files: tuple[Path, ...]
    crc32: tuple[int, ...]

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.stat().st_size for file in self.files)


def latency_details(latency_ns: Sequence[int]) -> dict[str, float]:
    """Give percentiles, mean and maximum in seconds."""
    # A percentile is a latency that was observed; it is left out where no sample lies beyond it.
    seconds = np.asarray(latency_ns) / 1e9
    details = {"latency_mean_s": float(seconds.mean()), "latency_max_s": float(seconds.max())}
    for name, share in QUANTILES.items():
        # Rounded, because 1000 * (1 - 0.999) is a little less than 1.
        if round(len(seconds) * (1 - share), 9) >= 1:
            found = np.quantile(seconds, share, method="inverted_cdf")
            details[f"latency_{name}_s"] = float(found)
    return details
