"""Writes a folder of batch scripts: whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pyscale.errors import UserError


def refuse_unusable(folder: Path) -> None:
    """Raise where a folder of scripts cannot be made.

    Raises
    ------
    UserError
        If the folder holds something, is none, or may not be written.
    """
    if folder.is_dir():
        try:
            full = any(folder.iterdir())
        except OSError as error:
            raise _unusable(folder, error) from error
        if full:
            raise UserError(
                f"--emit-sbatch {folder}: the folder is not empty; name a new one, or empty it"
            )
    elif folder.exists() or folder.is_symlink():
        raise UserError(f"--emit-sbatch {folder}: not a folder; name a new one")
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(
            f"--emit-sbatch {folder}: {nearest} is not a writable folder; name another one"
        )


def write_scripts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a new or empty folder; if one cannot be written, none stays.

    Parameters
    ----------
    folder : Path
    texts : mapping of str to str
        Text by path in the folder, in the order of writing; shell scripts become executable.

    Raises
    ------
    UserError
        If the folder is not usable.
    """
    refuse_unusable(folder)
    was_there = folder.is_dir()
    try:
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            if file.suffix == ".sh":
                file.chmod(0o755)
    except BaseException as error:
        for child in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(child) if child.is_dir() else child.unlink()
        if not was_there and folder.is_dir():
            folder.rmdir()
        # A full disk has a sentence of its own.
        full = {errno.ENOSPC, errno.EDQUOT}
        if isinstance(error, OSError) and error.errno not in full:
            raise _unusable(folder, error) from error
        raise


def _unusable(folder: Path, error: OSError) -> UserError:
    return UserError(
        f"--emit-sbatch {folder}: the folder cannot be used ({error.strerror}); name another one"
    )
