"""A suite of the machine, from the command line: what it leaves, and nothing else."""

import pytest
from watchfiles import watch

from pyscale.store.folder import find_run
from pyscale.store.taskfiles import read_task
from pyscale_stages.timing import Timing

TINY = """
name = "tiny"
summary = "A folder, in a moment"
data = "place"

[stages.storage]
inputs = {{ place = "place" }}

[stages.storage.params]
particles = 8
particle_side_px = 16
particle_files = 2
movie_formats = ["tiff"]
movies = 1
movie_frames = 1
movie_side_px = 64
small_files = 4
readers = [1]
modes = ["warm"]
repeats = {repeats}
"""
MINE = b"no input of anybody's"


@pytest.fixture
def disk(home):
    """A folder to measure, with a file of somebody else in it."""
    folder = home / "disk"
    folder.mkdir()
    (folder / "mine.txt").write_bytes(MINE)
    return folder


def suite(home, repeats):
    path = home / "tiny.toml"
    path.write_text(TINY.format(repeats=repeats))
    return path


@pytest.mark.slow
def test_workers_measure_a_folder_and_leave_it_as_it_was(pyscale, home, disk):
    options = ("--set", "path=disk", "--workers", "1,2", "--repeats", "1")
    answer = pyscale("run", suite(home, 1), *options)
    assert answer.code == 0, answer.err
    assert [file.name for file in disk.iterdir()] == ["mine.txt"]
    assert (disk / "mine.txt").read_bytes() == MINE
    run = find_run(home / "runs", None)
    for trial in run.plan.trials:
        for name in trial.window_tasks:
            result = read_task(run.task(trial, name)).result
            assert result.of(Timing)
            assert result.page_cache == ()
            assert result.counters.input_files == 0
            assert result.versions["place_filesystem"]
    assert pyscale("resume", run.path.name).code == 0
    assert pyscale("status", run.path.name).code == 0
    advice = pyscale("advise", run.path.name)
    assert (advice.code, "no stage was measured over numbers of workers" in advice.err) == (2, True)


@pytest.mark.slow
def test_a_run_that_is_cancelled_leaves_nothing_in_the_folder(pyscale, start, home, disk):
    process = start("run", suite(home, 100_000), "--set", "path=disk", "--repeats", "1")
    for _ in watch(disk, rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        assert process.poll() is None, process.communicate()
        # Before there is a run it is only tried whether the folder may be written.
        if (home / "runs").exists() and len([*disk.iterdir()]) > 1:
            break
    assert pyscale("cancel").code == 0
    process.wait()
    assert [file.name for file in disk.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["absent", "disk/mine.txt"])
def test_what_is_no_folder_is_refused_before_a_run_is_made(pyscale, home, disk, name):
    answer = pyscale("run", suite(home, 1), "--set", f"path={name}", "--repeats", "1")
    assert answer.code == 2
    assert str(disk.parent / name) in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not (home / "runs").exists()
