"""Files that appear whole under their final name, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def atomic_path(final: Path) -> Iterator[Path]:
    """Yield a temporary path beside `final`; move it there when the block succeeds."""
    # The data is on the disk before the name: what is seen is whole, even after a power cut.
    # Folders above that of the file may have been moved, and must not be made anew.
    final.parent.mkdir(exist_ok=True)
    # The suffix is kept, because writers choose their format by it. Process ids of two nodes
    # may be the same on a shared filesystem, so the name is random.
    temporary = final.with_name(f".{final.stem}.{token_hex(4)}.partial{final.suffix}")
    try:
        with naming(final):
            yield temporary
            flush_to_disk(temporary)
            temporary.replace(final)
            flush_to_disk(final.parent)
    finally:
        # Where all went well it has its final name.
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def atomic_folder(final: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `final`, which takes its place when the block succeeds."""
    final.parent.mkdir(exist_ok=True)
    temporary = final.with_name(f".{final.stem}.{token_hex(4)}.partial{final.suffix}")
    try:
        with naming(final):
            yield temporary
            for path in sorted(temporary.rglob("*"), reverse=True):
                flush_to_disk(path)
            if final.is_dir():
                shutil.rmtree(final)
            temporary.replace(final)
            flush_to_disk(final.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_atomically(final: Path, text: str) -> None:
    """Write a small text file so that readers see all of it or none of it."""
    with atomic_path(final) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add a path to errors of the system in the block that name none, as those of a full disk."""
    try:
        yield
    except OSError as error:
        # An error without a number would lose its own words.
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def flush_to_disk(path: Path) -> None:
    """Have the kernel write what it still holds of a file or folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
