"""Folders are really written, and what their disks cannot do is said before a run needs it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pyscale.doctor import files as disks
from pyscale.doctor.files import data
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.machine.place import refuse_lack_of_space
from pyscale_stages.moviewriter import write_movie

OTHERWISE = "set runs_folder to another disk"
UNWRITABLE = Path("/proc/self")


def test_a_folder_that_is_not_made_yet_is_judged_by_the_one_above(tmp_path):
    assert disks.folder(tmp_path / "a" / "b", OTHERWISE).status == "ok"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (None, "disk.folder"),
        ("size=1m,ro", "disk.folder"),
        ("size=4m", disks.FULL_DISK),
    ],
    ids=["unwritable", "read-only", "little room"],
)
def test_a_disk_that_runs_cannot_use_well_is_said(small_disk, options, code):
    found = disks.folder(UNWRITABLE if options is None else small_disk(options), OTHERWISE)
    assert (found.code, found.status) == (code, "problem")
    assert found.do.endswith(OTHERWISE)


def test_the_page_cache_is_tried_with_a_file_that_does_not_stay(tmp_path, small_disk):
    found = disks.page_cache(tmp_path, "cold")
    assert (found.status == "ok") == ("proved by" in found.what)
    assert list(tmp_path.iterdir()) == []
    # What lies in memory cannot be made cold.
    disk = small_disk("size=4m")
    cold, warm = disks.page_cache(disk, "cold"), disks.page_cache(disk, "warm")
    assert (cold.status, cold.do) == ("warning", "use --cache warm or --cache asis")
    assert warm.status == "ok"
    assert disks.page_cache(UNWRITABLE, "cold").status == "ok"


def found(plan):
    (finding,) = disks.place(plan)
    return finding


def test_a_place_with_room_is_well_and_that_of_the_runs_need_not_be_there_yet(plan, tmp_path):
    assert found(plan("system_brief", path=tmp_path)).status == "ok"
    of_the_runs = found(plan("system_brief"))
    assert (of_the_runs.status, of_the_runs.where) == ("ok", str(tmp_path / "runs_folder"))
    # A suite on a movie measures none.
    assert list(disks.place(plan("labels"))) == []


def test_a_place_that_is_no_folder_or_cannot_take_what_the_tests_write_is_refused(
    plan, tmp_path, small_disk
):
    absent = found(plan("system_brief", path=tmp_path / "absent"))
    read_only = found(plan("system_brief", path=small_disk("ro,size=1g")))
    for finding in (absent, read_only):
        assert (finding.code, finding.status) == ("disk.place", "problem")
        assert finding.do == "give another folder by --set path=DIR"
    full = found(plan("system_brief", path=small_disk("size=1m")))
    assert (full.code, full.status) == (disks.FULL_DISK, "problem")


def test_as_much_room_is_wanted_for_each_worker_as_the_stages_refuse_to_begin_without(
    plan, tmp_path, monkeypatch
):
    one, three = (disks.written_bytes(plan("system", workers=(n,))) for n in (1, 3))
    assert three == 3 * one > 0
    # A file of one byte takes a block.
    tiny = {"storage": {"small_files": 10**9, "small_file_bytes": 1}}
    wanted_bytes = disks.written_bytes(plan("system", workers=(1,), stages=tiny))
    assert wanted_bytes > 4096 * 10**9
    most = -(-100 * wanted_bytes // 105)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes - 1))
    with pytest.raises(ResourceExhausted):
        refuse_lack_of_space({tmp_path: most}, "lower small_files")
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=wanted_bytes))
    refuse_lack_of_space({tmp_path: most}, "lower small_files")


def unseen(plan, **changes):
    settings = plan.settings | {"runs_folder": str(changes.pop("runs", "/home/us/runs"))}
    changed = plan.model_copy(update={"settings": settings, "movie": None} | changes)
    return [(one.code, one.where) for one in disks.out_of_nodes_sight(changed)]


def test_folders_that_each_machine_has_of_its_own_are_a_warning(plan, small_disk, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/")
    asked = plan()
    assert unseen(asked) == []
    assert unseen(asked, runs="/tmp/absent/runs") == [("disk.shared", "/tmp/absent/runs")]
    movie = Path("/var/tmp/movie.tif")
    assert unseen(asked, movie=movie) == [("disk.shared", str(movie))]
    # A disk in memory, where nothing else of its path tells.
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    disk = small_disk("size=64k")
    assert unseen(asked, runs=disk / "runs") == [("disk.shared", str(disk / "runs"))]
    monkeypatch.setattr(sys, "prefix", "/tmp/environment")
    assert unseen(asked) == [("disk.shared", "/tmp/environment")]


def test_a_full_disk_is_told_from_one_that_refuses(small_disk):
    disk = small_disk("size=1m")
    (disk / "filler").write_bytes(b"x" * (1 << 20))
    assert disks.refusal(disk) == "it is full, or this user's quota is used up"


def test_slides_are_counted(plan, tmp_path):
    slides = tmp_path / "slides"
    slides.mkdir()

    def found():
        (finding,) = data(plan(suite="loader", data=str(slides), workers=(1,)))
        return finding

    assert found().status == "problem"
    (slides / "a.svs").touch()
    (slides / "b.zarr").mkdir()
    assert (found().status, found().what) == ("ok", "2 slides")


def test_a_movie_is_opened_as_a_stage_opens_it(plan, tmp_path):
    movie = tmp_path / "movie.ome.tif"
    write_movie(movie, np.zeros((3, 8, 16), np.uint16), "TYX")
    (found,) = data(plan(data=str(movie)))
    assert (found.where, found.what) == (
        str(tmp_path),
        'movie.ome.tif: OME-TIFF, image 0 of 1 "Image0"; 3 of 3 frames, 1 channel, 16 x 8 uint16, '
        "1.25 kB",
    )


@pytest.mark.parametrize(
    ("movie", "status", "do"),
    [
        ("movie.zarr", "problem", ""),
        ("movie.tif", "problem", ""),
        ("no-such-movie", "problem", "pyscale data list"),
        # It would be fetched.
        ("hela-tracking", "warning", "pyscale data fetch hela-tracking"),
        ("cancer-migration", "problem", "pyscale data verify cancer-migration"),
    ],
)
def test_a_movie_that_is_not_here_as_it_should_be(plan, tmp_path, monkeypatch, movie, status, do):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "movie.zarr").mkdir()
    (tmp_path / "movie.tif").write_bytes(b"not a movie")
    changed = tmp_path / "data_folder" / "cancer-migration" / "cancer_cell_migration_crop.tif"
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b"cut short")
    (found,) = data(plan(data=movie))
    assert (found.code, found.status) == ("data.found", status)
    assert found.do
    assert do in found.do
