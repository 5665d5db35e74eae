"""A trial's node before its tasks begin: the page cache of the inputs, and other work there."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Literal

import psutil

from pyscale.store.records import Bystanders, TrialCache
from pyscale_stages.framefiles import files_of
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.cgroups import kernel_text
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.reading import Reading
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState

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
        pyscale_tasks=sum(
            ("-m", "pyscale_stages") in pairwise(process.info["cmdline"] or ())
            for process in psutil.process_iter(["cmdline"])
        ),
        runnable=_runnable_of_others(besides),
    )


def _runnable_of_others(besides: Path | None) -> float | None:
    found = []
    for sample in range(SAMPLES):
        if sample:
            time.sleep(PERIOD_S)
        running = _running_of_own(besides)
        runnable = _runnable()
        if runnable is None:
            return None
        found.append(max(0, runnable - running))
    return median(found)


def _running_of_own(besides: Path | None) -> int:
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
    return running


def _runnable() -> int | None:
    """Processes and threads of the whole machine that run or wait for a processor, as Linux tells.

    None elsewhere: macOS calls nearly every process running.
    """
    found = re.search(r"^procs_running (\d+)", kernel_text(Path("/proc/stat")), re.MULTILINE)
    return int(found[1]) if found else None


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
