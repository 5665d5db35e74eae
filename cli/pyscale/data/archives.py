"""Safe unpacking of archives: every member is checked before any is written."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

from pyscale.data.verify import require_space
from pyscale.errors import FULL, READ_ONLY, UserError

ENCRYPTED = 0x1
DAMAGED = (
    EOFError,
    RuntimeError,
    NotImplementedError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def unpack(
    archive: Path, kind: Literal["zip", "tar"], final: Path, staging: Path, limit_bytes: int
) -> None:
    """Unpack an archive into a new folder, which appears whole or not at all."""
    shutil.rmtree(staging, ignore_errors=True)
    new = staging / "new"
    new.mkdir(parents=True)
    try:
        if kind == "zip":
            _unpack_zip(archive, new, limit_bytes)
        else:
            _unpack_tar(archive, new, limit_bytes)
        # A folder cannot take the name of one that holds files.
        if final.exists():
            final.rename(staging / "old")
        new.rename(final)
    except OSError as error:
        if re.search(f"{FULL}|{READ_ONLY}", os.strerror(error.errno or 0)):
            raise
        # Names that are too long, or of a file and of a folder at once.
        raise UserError(
            f"{archive.name} holds a member that cannot be written here ({error.strerror}): "
            "nothing was unpacked; do not use this archive"
        ) from error
    except DAMAGED as error:
        raise UserError(
            f"{archive.name} cannot be unpacked ({error}): fetch it again, or from a --mirror"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unpack_zip(archive: Path, folder: Path, limit_bytes: int) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        for member in members:
            _refuse_path(archive, member.filename)
            # The upper half is the mode in Unix, and 0 where another system made the archive.
            if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise _refused(archive, member.filename, "is a link or a device")
            if member.flag_bits & ENCRYPTED:
                raise _refused(archive, member.filename, "is encrypted")
        _refuse_bulk(archive, folder, (member.file_size for member in members), limit_bytes)
        opened.extractall(folder)


def _unpack_tar(archive: Path, folder: Path, limit_bytes: int) -> None:
    def checked_sizes() -> Iterable[int]:
        # One header at a time: a bomb is refused at its first.
        for member in opened:
            _refuse_path(archive, member.name)
            try:
                tarfile.data_filter(member, str(folder))
            except tarfile.FilterError as error:
                raise _refused(archive, member.name, f"is a link or a device ({error})") from error
            yield member.size

    with tarfile.open(archive) as opened:
        _refuse_bulk(archive, folder, checked_sizes(), limit_bytes)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def _refuse_path(archive: Path, name: str) -> None:
    """Refuse absolute paths and `..`, in the spelling of any system."""
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        if path.anchor or ".." in path.parts:
            raise _refused(archive, name, "would land outside the dataset's folder")


def _refuse_bulk(archive: Path, folder: Path, sizes: Iterable[int], limit_bytes: int) -> None:
    total = 0
    for size in sizes:
        total += size
        if total > limit_bytes:
            raise UserError(
                f"{archive.name} would unpack to more than the {limit_bytes} bytes that the "
                "registry allows: nothing was unpacked; do not use this archive"
            )
    require_space(folder, total, f"the contents of {archive.name}")


def _refused(archive: Path, member: str, why: str) -> UserError:
    return UserError(
        f"{archive.name} holds {member!r}, which {why}: nothing was unpacked; "
        "do not use this archive"
    )
