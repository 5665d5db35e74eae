"""A disk that fills up ends a run in one sentence, and the run can be finished later."""

import os

import pytest

from pyscale.store.folder import RunFolder
from pyscale.store.taskfiles import read_task

OPTIONS = ("--workers", "1", "--repeats", "1", "--only", "contact")


@pytest.fixture(autouse=True, scope="module")
def _without_figures():
    """The disk may also fill up while figures are written, so here they are."""


@pytest.fixture(autouse=True, scope="module")
def _without_page():
    """And the page."""


@pytest.fixture
def small_disk(home, mount_in_memory):
    """A disk of four megabytes where the runs go."""
    return mount_in_memory(home / "runs", "size=4m")


def fill(disk, *, but_kib):
    """Take all space of a disk but a little."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - but_kib * 1024))
    return filler


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("left_kib", [16, 1064])
def test_a_full_disk_is_one_sentence_and_the_run_can_be_finished(
    pyscale, labels, small_disk, left_kib
):
    filler = fill(small_disk, but_kib=left_kib)
    answer = pyscale("run", "labels", "--data", labels, *OPTIONS)
    assert answer.code in {1, 3}, answer
    assert "is full: free space" in answer.err
    assert str(small_disk) in answer.err
    assert "the output folder" not in answer.err
    assert "Traceback" not in answer.err
    filler.unlink()
    planned = [path for path in small_disk.iterdir() if (path / "plan.json").exists()]
    for path in planned:
        assert pyscale("resume", path.name).code == 0
        run = RunFolder(path)
        states = [read_task(run.task(t, task)).state for t in run.plan.trials for task in t.tasks]
        assert set(states) == {"done"}
