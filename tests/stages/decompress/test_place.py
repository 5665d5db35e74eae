"""The scratch folder and what can go wrong in a place."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from pyscale_stages.decompress.place import scratch_in
from pyscale_stages.errors import BadInput, ResourceExhausted, StageError


def silent(sentence: str) -> None:
    raise AssertionError(sentence)


@pytest.mark.parametrize("end", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_nothing_stays_behind_however_the_work_ends(
    tmp_path: Path, end: type[BaseException]
) -> None:
    with pytest.raises(end), scratch_in(tmp_path, 0, silent) as folder:
        (folder / "movie.mrc").write_bytes(b"0")
        raise end
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_found_before_anything_is_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ResourceExhausted, match=r"GB free and the movies need up to 1e\+09 GB"),
        scratch_in(tmp_path, 10**18, silent),
    ):
        pytest.fail("it began")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/full and /proc")
def test_a_disk_that_fills_up_is_told_by_its_place(tmp_path: Path) -> None:
    with (
        pytest.raises(ResourceExhausted, match=f"{tmp_path} is full"),
        scratch_in(tmp_path, 0, silent),
        Path("/dev/full").open("wb", buffering=0) as full,
    ):
        full.write(b"0")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/full and /proc")
def test_a_folder_that_nobody_may_write_is_refused() -> None:
    with (
        pytest.raises(BadInput, match="/proc cannot be written"),
        scratch_in(Path("/proc"), 0, silent),
    ):
        pytest.fail("it began")


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.EDQUOT, ResourceExhausted, "quota is used up"),
        (errno.EROFS, BadInput, "Read-only file system"),
        (errno.EIO, BadInput, "Input/output error"),
    ],
)
def test_errors_of_the_system_become_sentences(
    tmp_path: Path, number: int, kind: type[StageError], said: str
) -> None:
    with pytest.raises(kind, match=said), scratch_in(tmp_path, 0, silent):
        raise OSError(number, os.strerror(number))


def test_a_movie_that_vanishes_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match="a movie vanished"),
        scratch_in(tmp_path, 0, silent) as folder,
    ):
        shutil.rmtree(folder)
        (folder / "movie.mrc").read_bytes()


def test_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is no folder"), scratch_in(tmp_path / "file", 0, silent):
        pytest.fail("it began")
