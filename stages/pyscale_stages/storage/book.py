"""Shared state of the tests of one task: work folder and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.storage.cachestate import Proof
from pyscale_stages.storage.params import Mode, StorageParams
from pyscale_stages.task import Task
from pyscale_stages.timing import Bottleneck, Timing

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass
class Book:
    """Timings of a task, and the proofs of what was in the page cache before them."""

    task: Task
    params: StorageParams
    proofs: list[dict[str, Any]] = field(default_factory=list)

    def prove(self, name: str, repeat: int, workers: int, proof: Proof) -> None:
        """Keep the state of every file before one repeat of a test."""
        self.proofs += [
            {
                "test": name,
                "repeat": repeat,
                "workers": workers,
                "mode": proof.mode,
                "file": file.path.name,
                "size_bytes": file.after.size_bytes,
                "resident_before_bytes": file.before.resident_bytes,
                "resident_after_bytes": file.after.resident_bytes,
                "method": file.after.method,
                "state": file.state,
                "reason": file.reason,
            }
            for file in proof.files
        ]

    def cannot(self, test: str, repeat: int, why_not: str, **more: Any) -> None:
        """Keep that a test cannot run here, and why."""
        self.task.timings.append(
            Timing(test=test, repeat=repeat, wall_s=None, why_not=why_not, **more)
        )


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
    def bottleneck(self) -> Bottleneck:
        """What its speed depends on most."""
        return "memory" if self.mode == "warm" else "storage"


@dataclass(frozen=True)
class FileSet:
    """Files that are read, and the checksums that say what was written into them."""

    folder: Path
    files: tuple[Path, ...]
    crc32: tuple[int, ...]
    """CRC-32 of each file."""

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.stat().st_size for file in self.files)


def latency_details(latency_ns: Sequence[int]) -> dict[str, float]:
    """Give percentiles, mean and maximum in seconds.

    A percentile is a latency that was observed, the smallest that at least this share of the
    samples do not exceed. It is left out where no sample lies beyond it: the 99.9th percentile
    of 500 samples would be their maximum under another name.

    `latency_ns`: in any order; at least one.
    """
    seconds = np.asarray(latency_ns) / 1e9
    details = {"latency_mean_s": float(seconds.mean()), "latency_max_s": float(seconds.max())}
    for name, share in QUANTILES.items():
        # Rounded, because 1000 * (1 - 0.999) is a little less than 1.
        if round(len(seconds) * (1 - share), 9) >= 1:
            found = np.quantile(seconds, share, method="inverted_cdf")
            details[f"latency_{name}_s"] = float(found)
    return details
