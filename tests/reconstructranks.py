"""Starts ranks of a reconstruction as real processes, and says how each ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from pyscale_stages.contract import TaskResult
from pyscale_stages.reconstruction import Reconstruction

FAULTY = Path(__file__).with_name("faultyrank.py")
PATIENCE_S = 480.0
"""Shorter than ranks wait for one that says nothing."""

SMALL: dict[str, Any] = {
    "size_px": 128,
    "operators": 4,
    "channels": (4, 4, 8, 8),
    "blocks": 1,
    # The network looks 53 px far: some pixels see nothing that a cut has changed.
    "tile_px": 64,
    "overlap_px": 56,
    "whole_at_one": False,
    "warmup_iterations": 1,
    "iterations": 5,
}


@dataclass(frozen=True)
class Ended:
    """How a rank ended."""

    exit_code: int
    said: str
    output: Path
    result: TaskResult | None

    @property
    def measured(self) -> Reconstruction:
        """What it measured."""
        assert self.result is not None, self.said
        assert self.result.reconstruction is not None, self.said
        return self.result.reconstruction

    @property
    def frames(self) -> int:
        """Images that it counts as its own."""
        assert self.result is not None, self.said
        return self.result.counters.frames

    @property
    def sentence(self) -> str:
        """Why it failed."""
        assert self.result is not None, self.said
        assert self.result.error is not None, self.said
        return self.result.error.message


def run_ranks(
    folder: Path,
    count: int,
    *,
    params: Mapping[str, Any],
    params_of: Mapping[int, Mapping[str, Any]] | None = None,
    faults: Mapping[int, str] | None = None,
) -> list[Ended]:
    """Start ranks at once and wait for all; none may leave a process behind."""
    folder.mkdir()
    with ExitStack() as ends:
        processes = []
        for rank in range(count):
            params_file = folder / f"params{rank}.json"
            params_file.write_text(
                json.dumps({**SMALL, **params, **(params_of or {}).get(rank, {})})
            )
            fault = (faults or {}).get(rank)
            start = ["-m", "pyscale_stages"] if fault is None else [str(FAULTY), fault]
            process = subprocess.Popen(
                [
                    *(sys.executable, *start, "reconstruct", "run"),
                    *("--output", str(folder / f"rank{rank}"), "--params", str(params_file)),
                    *("--result", str(folder / f"rank{rank}.json"), "--threads", "1"),
                    *("--rank", str(rank), "--ranks", str(count)),
                    *(("--meeting", str(folder / "meeting")) if count > 1 else ()),
                ],
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            ends.enter_context(process)
            ends.callback(process.kill)
            processes.append(process)
        said = [process.communicate(timeout=PATIENCE_S)[1] for process in processes]
        assert left_of(processes) == []
    return [
        ended(process.returncode, said[rank], folder / f"rank{rank}")
        for rank, process in enumerate(processes)
    ]


def ended(exit_code: int, said: str, output: Path) -> Ended:
    """Read what a rank has left; a killed one leaves no record."""
    record = output.with_suffix(".json")
    result = TaskResult.model_validate_json(record.read_bytes()) if record.exists() else None
    return Ended(exit_code, said, output, result)


def left_of(ranks: Sequence[subprocess.Popen[str]]) -> list[int]:
    """Processes that ranks have started and left; each rank began a session of its own."""
    sessions = {rank.pid for rank in ranks}
    left = []
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) in sessions:
                left.append(pid)
    return left
