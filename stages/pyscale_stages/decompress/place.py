"""The scratch folder: inside the place that is measured, and gone afterwards."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale_stages.errors import BadInput, ResourceExhausted

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def scratch_in(place: Path, needed_bytes: int, warn: Callable[[str], None]) -> Iterator[Path]:
    """Yield an empty folder inside `place`, and remove it however the block ends.

    Parameters
    ----------
    place : Path
        An existing folder.
    needed_bytes : int
        Most that will be written.
    warn : callable
        Told where the folder could not be removed.

    Raises
    ------
    BadInput
        If the place is no folder that may be written, or a file vanished from it.
    ResourceExhausted
        If it has too little room, or a quota allows no more.
    """
    if not place.is_dir():
        raise BadInput(f"{place} is no folder: give one to measure")
    free_bytes = shutil.disk_usage(place).free
    if free_bytes < needed_bytes:
        raise ResourceExhausted(
            f"{place} has {free_bytes / 1e9:.3g} GB free and the movies need up to "
            f"{needed_bytes / 1e9:.3g} GB: free space there, or measure smaller or fewer movies"
        )
    try:
        scratch = TemporaryDirectory(
            prefix=".pyscale-decompress-", dir=place, ignore_cleanup_errors=True
        )
    except OSError as error:
        if error.errno in _FULL:
            raise _full(place) from error
        raise BadInput(
            f"{place} cannot be written: {_reason(error)}; give another folder"
        ) from error
    try:
        with scratch:
            yield Path(scratch.name)
    except OSError as error:
        if error.errno in _FULL:
            raise _full(place) from error
        if isinstance(error, FileNotFoundError):
            raise BadInput(
                f"a movie vanished from {place} while it was measured: does something else clean "
                "up there?"
            ) from error
        raise BadInput(f"{place} cannot be measured: {_reason(error)}") from error
    finally:
        if Path(scratch.name).exists():
            warn(f"{scratch.name} could not be removed: remove it by hand")


def _full(place: Path) -> ResourceExhausted:
    return ResourceExhausted(
        f"{place} is full, or its quota is used up: free space there, or measure smaller or fewer "
        "movies"
    )


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
