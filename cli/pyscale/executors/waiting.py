"""Waiting for tasks: the records are watched, and the jobs asked only whether they live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from watchfiles import watch

from pyscale.executors.protocol import Job
from pyscale.store.records import EXIT_FILE, has_ended, write_vanished

LIVENESS_PERIOD_MS = 500
"""How often jobs are asked whether they live, and how late a record is seen at worst where the
filesystem tells no other node of changes."""


def wait_for(jobs: Mapping[Path, Job]) -> None:
    """Return when every task has ended; a job that vanished leaves an exit record from here.

    Parameters
    ----------
    jobs : mapping of Path to Job
        Task folder and job of each task.
    """
    pending = _unfinished(jobs)
    if not pending:
        return
    for _ in watch(
        *pending,
        recursive=False,
        # What a task says on stdout must not wake us: we share its cores.
        watch_filter=lambda _change, path: path.endswith(EXIT_FILE),
        debounce=50,
        step=5,
        rust_timeout=LIVENESS_PERIOD_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
    ):
        pending = _unfinished(pending)
        if not pending:
            return


def _unfinished(jobs: Mapping[Path, Job]) -> dict[Path, Job]:
    pending = {}
    for folder, job in jobs.items():
        # Asked before the record is looked for: a job may write it and end in between.
        alive = job.is_alive()
        if has_ended(folder):
            continue
        if alive:
            pending[folder] = job
        else:
            write_vanished(folder)
    return pending
