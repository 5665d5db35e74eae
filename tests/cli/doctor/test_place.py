"""The folder to measure: refused in a sentence before any test writes into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyscale.doctor.disks import FULL_DISK
from pyscale.doctor.findings import Finding
from pyscale.doctor.place import place, written_bytes
from pyscale.doctor.subject import Subject
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.machine.place import refuse_lack_of_space

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
