"""Waiting for tasks: the records are watched, and the jobs asked only whether they live."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from watchfiles import watch

from pyscale.executors.protocol import Job
from pyscale.store.records import EXIT_FILE, ExitRecord
from pyscale_stages.atomic import write_atomically

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
        watch_filter=None,
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
        if (folder / EXIT_FILE).exists():
            continue
        if alive:
            pending[folder] = job
        else:
            vanished = ExitRecord(returncode=None, end_utc=datetime.now(UTC))
            write_atomically(folder / EXIT_FILE, vanished.model_dump_json() + "\n")
    return pending
