"""Folders are really written, and what their disks cannot do is said before a run needs it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pyscale.doctor import disks
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.machine.place import refuse_lack_of_space
from pyscale_stages.measure.mounts import filesystem_of

OTHERWISE = "set runs_folder to another disk"
UNWRITABLE = Path("/proc/self")


def test_a_folder_that_is_not_made_yet_is_judged_by_the_one_above_and_needs_room_for_files(
    tmp_path, small_disk
):
    assert disks.folder("runs", tmp_path / "a" / "b", OTHERWISE).status == "ok"
    assert disks.enough_files(tmp_path, tasks=10).status == "ok"
    assert list(tmp_path.iterdir()) == []
    found = disks.enough_files(small_disk("size=4m,nr_inodes=100"), tasks=10)
    assert found.status == "problem"
    assert "room for 9" in found.sentence


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (None, "problem", "cannot be written"),
        ("size=1m,ro", "problem", "read-only file system"),
        ("size=4m", "problem", "free space there"),
        ("size=2g", "warning", "tmpfs"),
    ],
    ids=["unwritable", "read-only", "little room", "in memory"],
)
def test_a_disk_that_runs_cannot_use_well_is_said(small_disk, options, status, said):
    found = disks.folder("runs", UNWRITABLE if options is None else small_disk(options), OTHERWISE)
    assert found.status == status
    assert said in f"{found.sentence} {found.remedy}"
    assert options is not None or found.remedy == OTHERWISE


def test_a_full_disk_is_told_from_one_that_refuses_and_a_tiny_one_for_scratch(small_disk):
    disk = small_disk("size=1m")
    (disk / "filler").write_bytes(b"x" * (1 << 20))
    assert disks.refusal(disk) == "it is full, or this user's quota is used up"
    found = disks.scratch(small_disk("size=4m"))
    assert (found.status, found.remedy) == ("warning", "set TMPDIR to another disk")


def test_a_home_folder_that_cannot_be_written_or_is_on_the_network_is_named(tmp_path):
    unwritable = disks.home(UNWRITABLE, disks.NETWORK)
    assert unwritable.status == "warning"
    assert "NUMBA_CACHE_DIR" in unwritable.remedy
    # The type of this disk stands in for one of the network's.
    fs_type = filesystem_of(tmp_path).fs_type
    assert "tasks that start at once share it" in disks.home(tmp_path, {fs_type}).sentence


def test_the_page_cache_is_tried_with_a_file_that_does_not_stay(tmp_path, small_disk):
    found = disks.page_cache("runs", tmp_path, "cold")
    assert (found.status == "ok") == ("proved by" in found.sentence)
    assert list(tmp_path.iterdir()) == []
    # What lies in memory cannot be made cold.
    disk = small_disk("size=4m")
    cold, warm = disks.page_cache("runs", disk, "cold"), disks.page_cache("runs", disk, "warm")
    assert cold.status == "warning"
    assert "cannot be made cold" in cold.sentence
    assert cold.remedy == "use --cache warm or --cache asis"
    assert warm.status == "ok"
    for asked in ("cold", "asis"):
        assert disks.page_cache("data", UNWRITABLE, asked).status == "not applicable"


def found(subject):
    (finding,) = disks.place(subject)
    return finding


def test_a_folder_with_room_is_well_and_that_of_the_runs_need_not_be_there_yet(subject, tmp_path):
    assert found(subject("system_brief", path=tmp_path)).status == "ok"
    of_the_runs = found(subject("system_brief"))
    assert of_the_runs.status == "ok"
    assert str(tmp_path / "runs_folder") in of_the_runs.sentence
    # A suite on a movie measures none.
    assert list(disks.place(subject("labels"))) == []


def test_what_is_no_folder_or_cannot_take_what_the_tests_write_is_refused(
    subject, tmp_path, small_disk
):
    (tmp_path / "file").touch()
    for name, what in (("absent", "does not exist"), ("file", "is not a folder")):
        finding = found(subject("system_brief", path=tmp_path / name))
        assert (finding.status, finding.remedy) == (
            "problem",
            "give another folder by --set path=DIR",
        )
        assert what in finding.sentence
    full = found(subject("system_brief", path=small_disk("size=1m")))
    assert (full.check, full.status) == (disks.FULL_DISK, "problem")
    read_only = found(subject("system_brief", path=small_disk("ro,size=1g")))
    assert read_only.status == "problem"
    assert "cannot be written: read-only file system" in read_only.sentence


def test_as_much_room_is_wanted_for_each_worker_as_the_stages_refuse_to_begin_without(
    subject, tmp_path, monkeypatch
):
    one, three = (disks.written_bytes(subject("system", workers=(n,))) for n in (1, 3))
    assert three == 3 * one > 0
    # A file of one byte takes a block.
    tiny = {"storage": {"small_files": 10**9, "small_file_bytes": 1}}
    examined = subject("system", workers=(1,), stages=tiny)
    wanted_bytes = disks.written_bytes(examined)
    assert wanted_bytes > 4096 * 10**9
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes - 1))
    most = max(entry.room_bytes for entry in examined.entries)
    with pytest.raises(ResourceExhausted):
        refuse_lack_of_space({tmp_path: most}, "lower small_files")
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes))
    refuse_lack_of_space({tmp_path: most}, "lower small_files")
