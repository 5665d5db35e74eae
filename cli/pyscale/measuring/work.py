"""The one program that works a run off: here, or in the job that holds its nodes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pyscale.executors.local import LocalExecutor
from pyscale.executors.protocol import Executor
from pyscale.measuring.benchmark import benchmark
from pyscale.measuring.holding import Holder
from pyscale.measuring.pilot import pilot
from pyscale.planning.placement import local_placement
from pyscale.store.allocations import is_followed
from pyscale.store.folder import RunFolder


def work(folder: str) -> None:
    """Run what is left of the run in a folder, and write its report; nothing else starts tasks."""
    run = RunFolder(Path(folder))
    if run.plan.site is None:
        benchmark(run, executor_here(run), lambda _event: None)
    elif pilot(run) and not is_followed(run.path):
        Holder(run, lambda _event: None).go_on()


def executor_here(run: RunFolder) -> Executor:
    """What starts tasks of a run on this machine."""
    return LocalExecutor(run.path, cache(local_placement))
