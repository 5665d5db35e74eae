"""Errors that a user can act on, each with the exit code of the stage contract."""

from __future__ import annotations

import errno
import os
import re
from typing import ClassVar

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
    kind = type(error)
    of_torch = (kind.__module__, kind.__name__) == ("torch", "OutOfMemoryError")
    if of_torch or any(said in str(error) for said in _SAID_OF_DEVICE_MEMORY):
        # What torch says of the GPU ends where it begins to count what is in its memory.
        said = _first_line(error).partition(". Including")[0]
        return ResourceExhausted(
            f"the GPU's memory ran out ({said}): lower batch_size or length_px, let fewer workers "
            "share one GPU, or take a GPU with more memory"
        )
    if (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or _SAID_OF_MEMORY.search(str(error))
    ):
        return ResourceExhausted(
            f"memory ran out ({_first_line(error)}): give the task more memory, or fewer or "
            "smaller frames"
        )
    full_disk = isinstance(error, OSError) and (
        error.errno in {errno.ENOSPC, errno.EDQUOT}
        # So numpy says that it could write a part of an array alone.
        or re.fullmatch(r"\d+ requested and \d+ written", str(error))
    )
    # Libraries that are not written in Python have errors of their own for it.
    if full_disk or os.strerror(errno.ENOSPC) in str(error):
        where = getattr(error, "filename", None) or "the output folder"
        return ResourceExhausted(
            f"the disk of {where} is full: free space there and run the command again, or write "
            "to another disk"
        )
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return ResourceExhausted(
            f"{error.filename or 'a file'} would exceed this shell's limit of file size: raise "
            "it (`ulimit -f unlimited`), and run the command again"
        )
    return None


_SAID_OF_MEMORY = re.compile(
    r"DefaultCPUAllocator: can't allocate memory|\(-4:Insufficient memory\)"
    # What oneDNN has described it supports: only room for it can be missing then.
    r"|could not create a (primitive$|memory object)"
)
"""What torch and OpenCV say, in errors that are no `MemoryError`."""
_SAID_OF_DEVICE_MEMORY = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "MPS backend out of memory",
)
"""What torch says where a device's memory ran out; only its allocator has a class for it."""


_OF_CODE = (AssertionError, AttributeError, IndexError, TypeError)
"""What they say is of a library's code, and no help to who reads it."""


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def said_by(error: BaseException) -> str:
    """What an error of a library says, in brackets after a blank; nothing where it says nothing."""
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        said = f"{error.args[0]!r} is missing" if error.args[0].isidentifier() else ""
    else:
        said = "" if isinstance(error, (KeyError, *_OF_CODE)) else short(error)
    return f" ({said})" if said else ""


def short(error: object) -> str:
    """First sentence of what an error of a library says, without the place in its source."""
    first_line = str(error).strip().partition("\n")[0]
    return re.sub(r"^\[[^\]]*\] *", "", first_line).partition(". ")[0].rstrip(".:")
