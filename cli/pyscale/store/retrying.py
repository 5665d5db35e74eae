"""Failures that are worth a retry."""

from __future__ import annotations

from pathlib import Path

from pyscale.store.folder import RunFolder
from pyscale.store.taskfiles import RecordError, read_task
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import EXIT_BAD_INPUT

MEMORY_LIMIT = "OutOfMemory"
LIMITS = {MEMORY_LIMIT, "TimeLimit"}
"""Kinds of error by which a cluster says that a task needed more than it had asked for."""


def why_not_again(error: TaskError) -> str | None:
    """Say why the same task would fail the same way; None where it may do better next time."""
    if error.exit_code == EXIT_BAD_INPUT:
        return "the same input gives the same error"
    if error.kind in LIMITS:
        return "the same request would end the same way"
    return None


def fails_again(run: RunFolder) -> bool:
    """Whether a task of a run failed in a way that the same command would repeat."""
    errors = (_error_of(run.task(trial, task)) for trial in run.plan.trials for task in trial.tasks)
    return any(error and why_not_again(error) for error in errors)


def _error_of(task_folder: Path) -> TaskError | None:
    try:
        return read_task(task_folder).error
    except RecordError:
        # The tables name it and leave its trial out.
        return None
