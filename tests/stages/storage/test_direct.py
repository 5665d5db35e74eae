from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale_stages.measure import pagecache
from pyscale_stages.storage.reading import Reader
from pyscale_stages.storage.reads import alignment_of, why_not_direct

IN_MEMORY = Path("/dev/shm")


@pytest.fixture
def file(place: Path, missing: Callable[[str, str], None]) -> Path:
    """A file that can be read by O_DIRECT."""
    path = place / "file"
    path.write_bytes(bytes(20_000))
    if why_not := why_not_direct(path):
        missing("O_DIRECT", f"{why_not}: put temporary files on a disk")
    return path


def refuse_blocks_below(size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reads be refused as a disk with blocks of this size does it."""
    pick = Reader.pick

    def refusing(self: Reader, *args: object) -> object:
        if self._alignment_bytes < size_bytes:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return pick(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Reader, "pick", refusing)


def test_a_file_in_memory_has_nothing_to_be_passed_by(missing):
    if not IN_MEMORY.is_dir():
        missing("a filesystem in memory", "mount a tmpfs at /dev/shm")
    assert why_not_direct(IN_MEMORY).startswith("tmpfs keeps its files in memory")


def test_an_operating_system_without_it_is_told(file, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECT")
    assert why_not_direct(file) == "this operating system has no O_DIRECT"


def test_a_filesystem_that_refuses_is_told_with_its_words(file, monkeypatch):
    refuse_blocks_below(10**9, monkeypatch)
    assert why_not_direct(file) == "the filesystem refuses O_DIRECT (Invalid argument)"


def test_pages_are_read_where_a_disk_has_no_smaller_blocks(file, monkeypatch):
    refuse_blocks_below(4096, monkeypatch)
    assert why_not_direct(file) == ""
    assert alignment_of(file) == 4096


def test_a_sector_that_was_read_through_the_cache_does_not_count(file, monkeypatch):
    look = pagecache.probe
    monkeypatch.setattr(
        pagecache, "probe", lambda p: look(p).model_copy(update={"resident_bytes": 4096})
    )
    assert alignment_of(file) == 4096


def test_a_vanished_file_is_no_refusal(place):
    with pytest.raises(FileNotFoundError):
        why_not_direct(place / "none")
