"""Folders are really written, and what their disks cannot do is said before a run needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.doctor.disks import NETWORK, enough_files, folder, home, page_cache, refusal, scratch

Mount = Callable[[str], Path]
OTHERWISE = "set runs_folder to another disk"
UNWRITABLE = Path("/proc/self")


def test_a_folder_that_is_not_made_yet_is_judged_by_the_one_above(tmp_path: Path) -> None:
    found = folder("runs", tmp_path / "a" / "b", OTHERWISE)
    assert found.status == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_problem() -> None:
    found = folder("runs", UNWRITABLE, OTHERWISE)
    assert (found.status, found.remedy) == ("problem", OTHERWISE)
    assert "cannot be written" in found.sentence


def test_a_read_only_disk_is_a_problem(small_disk: Mount) -> None:
    found = folder("data", small_disk("size=1m,ro"), OTHERWISE)
    assert "read-only file system" in found.sentence


def test_a_full_disk_is_told_from_one_that_refuses(small_disk: Mount) -> None:
    disk = small_disk("size=1m")
    (disk / "filler").write_bytes(b"x" * (1 << 20))
    assert refusal(disk) == "it is full, or this user's quota is used up"


def test_a_disk_with_little_room_is_a_problem(small_disk: Mount) -> None:
    found = folder("runs", small_disk("size=4m"), OTHERWISE)
    assert found.status == "problem"
    assert found.remedy.startswith("free space there")


def test_a_disk_in_memory_is_a_warning(small_disk: Mount) -> None:
    found = folder("runs", small_disk("size=2g"), OTHERWISE)
    assert (found.status, found.value) == ("warning", "tmpfs")


def test_a_tiny_scratch_disk_is_only_a_warning(small_disk: Mount) -> None:
    found = scratch(small_disk("size=4m"))
    assert (found.status, found.remedy) == ("warning", "set TMPDIR to another disk")


def test_a_disk_without_room_for_more_files_is_a_problem(small_disk: Mount, tmp_path: Path) -> None:
    found = enough_files(small_disk("size=4m,nr_inodes=100"), tasks=10)
    assert found.status == "problem"
    assert "room for 9" in found.sentence
    assert enough_files(tmp_path, tasks=10).status == "ok"


def test_a_home_folder_that_cannot_be_written_is_a_warning() -> None:
    found = home(UNWRITABLE, NETWORK)
    assert found.status == "warning"
    assert "NUMBA_CACHE_DIR" in found.remedy


def test_a_network_filesystem_is_named(tmp_path: Path) -> None:
    """The type of this disk stands in for one of the network's."""
    fs_type = home(tmp_path, NETWORK).value
    assert "tasks that start at once share it" in home(tmp_path, {fs_type}).sentence


def test_what_lies_in_memory_cannot_be_made_cold(small_disk: Mount) -> None:
    disk = small_disk("size=4m")
    cold, warm = page_cache("runs", disk, "cold"), page_cache("runs", disk, "warm")
    assert (cold.status, cold.value) == ("warning", "unsupported")
    assert cold.remedy == "use --cache warm or --cache asis"
    assert warm.status == "ok"


def test_the_page_cache_is_tried_with_a_file_that_does_not_stay(tmp_path: Path) -> None:
    found = page_cache("runs", tmp_path, "cold")
    assert found.value in {"verified-cold", "evicted-unverified", "unsupported"}
    assert (found.status == "ok") == (found.value == "verified-cold")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", ["cold", "asis"])
def test_a_page_cache_that_cannot_be_tried_is_no_finding_of_its_own(asked: str) -> None:
    assert page_cache("data", UNWRITABLE, asked).status == "not applicable"
