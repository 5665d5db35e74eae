"""Unpacking of zip archives."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath

from pyscale.data.verify import require_space
from pyscale.errors import UserError

DAMAGED = (EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)


def unpack(archive: Path, final: Path, staging: Path) -> None:
    """Unpack a zip archive into a new folder, which appears whole or not at all."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            for member in members:
                # In the spelling of any system.
                for path in (PurePosixPath(member.filename), PureWindowsPath(member.filename)):
                    if path.anchor or ".." in path.parts:
                        raise UserError(
                            f"{archive.name} holds {member.filename!r}, which would land outside "
                            "the dataset's folder: nothing was unpacked; do not use this archive"
                        )
            needed = sum(member.file_size for member in members)
            require_space(archive.parent, needed, f"the contents of {archive.name}")
            opened.extractall(staging)
    except DAMAGED as error:
        raise UserError(
            f"{archive.name} cannot be unpacked ({error}): fetch it again, or from a --mirror"
        ) from error
    # A folder cannot take the name of one that holds files.
    if final.exists():
        final.rename(staging.with_name("replaced"))
    staging.rename(final)
    archive.unlink()
    shutil.rmtree(staging.with_name("replaced"), ignore_errors=True)
