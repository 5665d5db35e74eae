"""The disk that a data folder lies on: its space, and its refusals in sentences."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyscale.errors import UserError

READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def disk_errors_explained(data_root: Path) -> Iterator[None]:
    """Turn what the disk refuses inside the block into a UserError."""
    try:
        yield
    except OSError as error:
        where = error.filename or data_root
        if error.errno in FULL:
            raise UserError(
                f"the disk of {data_root} is full: free space and run the same command again (it "
                "keeps what has arrived), or choose another --data-folder"
            ) from error
        if error.errno in READ_ONLY:
            raise UserError(
                f"{where} is not readable and writable for this user: change its permissions, or "
                "choose another --data-folder"
            ) from error
        if isinstance(error, (FileExistsError, NotADirectoryError)):
            raise UserError(
                f"{where} is a file, but a folder is needed there: remove it, or choose another "
                "--data-folder"
            ) from error
        if isinstance(error, FileNotFoundError):
            raise UserError(
                f"{where} does not exist and cannot be made: choose another --data-folder"
            ) from error
        raise


def refuse_file(data_root: Path) -> None:
    """Raise where a data folder is no folder; it need not exist yet."""
    with disk_errors_explained(data_root):
        if data_root.exists() and not data_root.is_dir():
            raise UserError(f"{data_root} is a file: name a folder by --data-folder")


def require_space(folder: Path, n_bytes: int, what: str) -> None:
    """Raise before anything is written where the disk has too little space."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise UserError(
            f"the disk of {folder} has {free} bytes left, but {n_bytes} are needed for {what}: "
            "free space, or choose another --data-folder"
        )
