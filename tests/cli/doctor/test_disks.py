"""Folders are really written, and what their disks cannot do is said before a run needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyscale.doctor.disks import (
    FULL_DISK,
    NETWORK,
    enough_files,
    folder,
    home,
    page_cache,
    place,
    refusal,
    scratch,
    written_bytes,
)
from pyscale.doctor.findings import Finding
from pyscale.doctor.subject import Subject
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.machine.place import refuse_lack_of_space

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


Subjects = Callable[..., Subject]


def found(subject: Subject) -> Finding:
    (finding,) = place(subject)
    return finding


def test_a_folder_with_room_is_well(subject: Subjects, tmp_path: Path) -> None:
    assert found(subject("system_brief", path=tmp_path)).status == "ok"


def test_the_folder_of_the_runs_need_not_be_there_yet(subject: Subjects, tmp_path: Path) -> None:
    found_here = found(subject("system_brief"))
    assert found_here.status == "ok"
    assert str(tmp_path / "runs_folder") in found_here.sentence


@pytest.mark.parametrize(
    ("name", "what"), [("absent", "does not exist"), ("file", "is not a folder")]
)
def test_what_is_no_folder_is_refused(
    subject: Subjects, tmp_path: Path, name: str, what: str
) -> None:
    (tmp_path / "file").touch()
    finding = found(subject("system_brief", path=tmp_path / name))
    assert (finding.status, finding.remedy) == ("problem", "give another folder by --path")
    assert what in finding.sentence


def test_a_disk_that_cannot_take_what_the_tests_write_is_full(
    subject: Subjects, small_disk: Callable[[str], Path]
) -> None:
    finding = found(subject("system_brief", path=small_disk("size=1m")))
    assert (finding.check, finding.status) == (FULL_DISK, "problem")


def test_a_folder_that_may_not_be_written_is_refused(
    subject: Subjects, small_disk: Callable[[str], Path]
) -> None:
    finding = found(subject("system_brief", path=small_disk("ro,size=1g")))
    assert finding.status == "problem"
    assert "cannot be written: read-only file system" in finding.sentence


def test_all_workers_write_at_once(subject: Subjects) -> None:
    one, three = (written_bytes(subject("system", workers=(n,))) for n in (1, 3))
    assert one > 0
    assert three == 3 * one


def test_as_much_room_is_wanted_as_the_stages_refuse_to_begin_without(
    subject: Subjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file of one byte takes a block.
    tiny = {"storage": {"small_files": 10**9, "small_file_bytes": 1}}
    examined = subject("system", workers=(1,), stages=tiny)
    wanted_bytes = written_bytes(examined)
    assert wanted_bytes > 4096 * 10**9
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes - 1))
    most = max(entry.room_bytes for entry in examined.entries)
    with pytest.raises(ResourceExhausted):
        refuse_lack_of_space({tmp_path: most}, "lower small_files")
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes))
    refuse_lack_of_space({tmp_path: most}, "lower small_files")


def test_a_suite_on_a_movie_measures_no_folder(subject: Subjects) -> None:
    assert list(place(subject("labels"))) == []
