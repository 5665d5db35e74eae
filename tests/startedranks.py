"""Starts ranks as real processes, waits for them, and says how each ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from forked import Forked
from pyscale.processes import wait_until_ended
from pyscale_stages.contract import TaskResult
from pyscale_stages.loading import Loading
from pyscale_stages.reconstruction import Reconstruction

TESTS = Path(__file__).parent
STARVED = TESTS / "starvedrank.py"
PATIENCE_S = 480.0
"""Shorter than ranks wait for one that says nothing."""
SOON_S = 2.0

SMALL = {
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
"""Parameters of a reconstruction."""


@dataclass(frozen=True)
class Ended:
    exit_code: int
    said: str
    output: Path
    result: Any
    """The record of the task; None of one that was killed."""

    @property
    def measured(self):
        (measured,) = self.result.of(Reconstruction)
        return measured

    @property
    def loading(self):
        (measured,) = self.result.of(Loading)
        return measured

    @property
    def frames(self):
        return self.result.counters.frames

    @property
    def sentence(self):
        return self.result.error.message


def start(ends, words, variables=None, inside=None):
    """Start one rank, `python WORDS`, in a session of its own; it ends with the stack.

    It is a fork, unless words before the command (or none, to begin anew) are given as `inside`.
    """
    given = {**os.environ, **(variables or {})}
    if inside is None:
        process = Forked(words, given)
    else:
        process = subprocess.Popen(
            [*inside, sys.executable, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=given,
            start_new_session=True,
        )
    ends.enter_context(process)
    ends.callback(process.kill)
    return process


def run_together(lines, variables=None):
    """Start ranks at once and wait for all; exit code, stdout and stderr of each.

    None may leave a process behind.
    """
    with ExitStack() as ends:
        processes = [start(ends, line, variables) for line in lines]
        said = [process.communicate(timeout=PATIENCE_S) for process in processes]
        # What is ending has closed its pipes a moment before it is gone.
        assert wait_until_ended(left_of(processes), SOON_S) == []
    return [(process.returncode, *each) for process, each in zip(processes, said, strict=True)]


def run_ranks(folder, count, *words, stage="reconstruct", params, out_of_memory=None):
    """Run ranks of a stage by its command line, with further words where given.

    `out_of_memory`: the rank whose memory runs out.
    """
    folder.mkdir(exist_ok=True)
    small = SMALL if stage == "reconstruct" else {}
    params_file = folder / "params.json"
    params_file.write_text(json.dumps({**small, **params}))
    lines = [
        [
            *([STARVED] if rank == out_of_memory else ["-m", "pyscale_stages"]),
            *(stage, "run", *words),
            *("--output", folder / f"rank{rank}", "--params", params_file),
            *("--result", folder / f"rank{rank}.json", "--threads", "1"),
            *("--rank", rank, "--ranks", count),
            *(("--meeting", folder / "meeting") if count > 1 else ()),
        ]
        for rank in range(count)
    ]
    # What a loader measures lies in the tests.
    outcomes = run_together(lines, {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])})
    return [
        ended(code, err, folder / f"rank{rank}") for rank, (code, _, err) in enumerate(outcomes)
    ]


def ended(exit_code, said, output):
    """Read what a rank has left; a killed one leaves no record."""
    record = output.with_suffix(".json")
    result = TaskResult.model_validate_json(record.read_bytes()) if record.exists() else None
    return Ended(exit_code, said, output, result)


def left_of(ranks):
    """Processes that ranks have started and left; each rank began a session of its own."""
    sessions = {rank.pid for rank in ranks}
    left = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) in sessions:
                left.append(process)
    return left
