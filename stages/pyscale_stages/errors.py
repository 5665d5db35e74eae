"""Errors that a user can act on, each with the exit code of the stage contract."""

from __future__ import annotations

import errno
import os
from typing import ClassVar

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_RESOURCE_EXHAUSTED = 3


class StageError(Exception):
    """An error whose message is one sentence: what is wrong, where, and what to do."""

    exit_code: ClassVar[int] = EXIT_FAILED


class BadInput(StageError):  # noqa: N818 - the contract's word
    """The input or a parameter cannot be used; trying again gives the same answer."""

    exit_code: ClassVar[int] = EXIT_BAD_INPUT


class MissingPart(StageError):  # noqa: N818 - the contract's word
    """A library, driver or file that this stage needs is not installed here."""

    exit_code: ClassVar[int] = EXIT_BAD_INPUT


class ResourceExhausted(StageError):  # noqa: N818 - the contract's word
    """Memory, disk or accelerator memory ran out."""

    exit_code: ClassVar[int] = EXIT_RESOURCE_EXHAUSTED


def as_stage_error(error: BaseException) -> StageError | None:
    """Translate the errors that mean "a resource ran out"; None for any other error."""
    if isinstance(error, StageError):
        return error
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return ResourceExhausted(
            f"memory ran out ({error or type(error).__name__}): "
            "give the task more memory or fewer frames"
        )
    full_disk = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    # Libraries that are not written in Python have errors of their own for it.
    if full_disk or os.strerror(errno.ENOSPC) in str(error):
        where = getattr(error, "filename", None) or "the output folder"
        return ResourceExhausted(
            f"the disk of {where} is full: free space there and run the same again, "
            "or write to another disk"
        )
    return None
