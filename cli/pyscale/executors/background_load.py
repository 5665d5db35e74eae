"""Other work on this machine, sampled while no worker of this run is active."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median

import psutil

from pyscale.store.records import Bystanders
from pyscale_stages.measure.nodename import node_name

SAMPLES = 5
PERIOD_S = 0.005
"""Between samples: what works without a pause is in all, a kernel thread that wakes in one."""


def look_around(besides: Path | None = None) -> Bystanders:
    """Look for tasks of other runs, and for other work that wants processors.

    Processes that name the folder `besides`, or a path in it, in their command line are this run's
    own.
    """
    return Bystanders(
        node=node_name(),
        cores=os.cpu_count() or 1,
        pyscale_tasks=_pyscale_tasks(),
        runnable=median(_runnable_of_others(sample, besides) for sample in range(SAMPLES)),
    )


def _pyscale_tasks() -> int:
    """Count processes that run a stage."""
    return sum(
        ("-m", "pyscale_stages") in pairwise(process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline"])
    )


def _runnable_of_others(sample: int, besides: Path | None) -> int:
    if sample:
        time.sleep(PERIOD_S)
    own = psutil.Process()
    running = 0
    # A worker's launcher takes a moment to end after its worker.
    family = {own, *own.children(recursive=True)}
    if besides is not None:
        family |= {
            process
            for process in psutil.process_iter(["cmdline"])
            if any(f"{besides}/" in f"{word}/" for word in process.info["cmdline"] or ())
        }
    for process in family:
        with suppress(psutil.NoSuchProcess):
            running += process.status() == psutil.STATUS_RUNNING
    return max(0, _runnable() - running)


def _runnable() -> int:
    """Processes and threads of the whole machine that run or wait for a processor."""
    stat = Path("/proc/stat").read_text(encoding="ascii")
    line = next(line for line in stat.splitlines() if line.startswith("procs_running "))
    return int(line.split()[1])
