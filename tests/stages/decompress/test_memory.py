"""Copies of files in memory."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyscale_stages.decompress.decode import (
    SHARED_MEMORY,
    memory_for,
    read_into,
)
from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.measure.cgroups import refuse_beyond_memory
from pyscale_stages.measure.mounts import filesystem_of

CONTENT = os.urandom((9 << 20) + 17)

needs_shared_memory = pytest.mark.skipif(
    not SHARED_MEMORY.is_dir() or filesystem_of(SHARED_MEMORY).fs_type != "tmpfs",
    reason="no /dev/shm in memory here",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "movie.mrc"
    path.write_bytes(CONTENT)
    return path


def size_of(path: Path) -> int | None:
    """Size of what may be another program's, and gone by now."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


@needs_shared_memory
def test_a_file_is_copied_whole_to_shared_memory_without_a_name(file):
    before = set(SHARED_MEMORY.iterdir())
    with memory_for(len(CONTENT)) as memory:
        read_into(memory.buffer, file)
        assert memory.why_not_shared == ""
        assert memory.buffer[:] == CONTENT
        mine = {path for path in SHARED_MEMORY.iterdir() if size_of(path) == len(CONTENT)}
        assert not mine - before


def test_without_shared_memory_it_is_copied_to_the_process_and_says_so(file, tmp_path):
    with memory_for(len(CONTENT), tmp_path / "shm") as memory:
        read_into(memory.buffer, file)
        assert memory.why_not_shared == f"{tmp_path / 'shm'} does not exist"
        assert memory.buffer[:] == CONTENT


@needs_shared_memory
def test_shared_memory_that_is_too_small_is_told(monkeypatch):
    def full(_descriptor: int, _offset: int, _size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with memory_for(4096) as memory:
        assert memory.why_not_shared == "/dev/shm is full: No space left on device"
        memory.buffer[:4] = b"here"


@needs_shared_memory
def test_a_file_larger_than_what_is_free_in_shared_memory_does_not_go_there(monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=4095))
    with memory_for(4096) as memory:
        assert "MB free, and the movie" in memory.why_not_shared


def test_a_folder_on_disk_does_not_pass_for_memory(tmp_path):
    kind = filesystem_of(tmp_path).fs_type
    with memory_for(10, tmp_path) as memory:
        if kind in {"tmpfs", "ramfs"}:
            assert memory.why_not_shared == ""
        else:
            assert f"is on {kind}" in memory.why_not_shared


def test_a_file_that_became_shorter_is_told(file):
    with memory_for(len(CONTENT) + 1) as memory, pytest.raises(BadInput, match="became shorter"):
        read_into(memory.buffer, file)


def test_what_cannot_fit_is_refused():
    with pytest.raises(ResourceExhausted, match="GiB of memory"):
        refuse_beyond_memory(10**17, "decoding", "measure fewer frames")
    refuse_beyond_memory(1, "decoding", "measure fewer frames")
