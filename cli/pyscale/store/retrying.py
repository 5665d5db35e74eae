"""Failures that are worth a retry."""

from __future__ import annotations

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
