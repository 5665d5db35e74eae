"""Causes of lost efficiency, provoked in real runs, are named for what they are."""

import json
import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from commandline import answer_in, answer_of
from movingsquares import write_crowds
from provoked import (
    HOW_TO_GET_THEM,
    before_all_others,
    busy_core,
    can_provoke,
    disk_of_its_own,
    slow_disk,
    slow_interpreter,
    started_in,
)
from pyscale_stages.measure.cpus import first_threads, usable_cpus

pytestmark = pytest.mark.slow

SUITE = """
name = "linking"
summary = "Tracking alone: its time follows the number of cells"
data = "labels"

[stages.track]
inputs = { labels = "movie" }
params = { gap_frames = 1, overlap_frames = 2 }
"""
FEW = [1500] * 24
MANY = [4000] * 24
MANY_LATE = [150] * 16 + [5000] * 16
"""Cells of each frame, whose time grows with their square."""


@pytest.fixture
def labels(tmp_path):
    """Write a movie of as many cells in each frame as are given."""
    return partial(write_crowds, tmp_path / "labels.ome.tif")


@pytest.fixture
def cores(missing):
    """Cores that two workers run on, one on each."""
    found = first_threads(usable_cpus())
    if len(found) < 2:
        missing("a second core", "run where this process may use two")
    return tuple(found[:2])


@pytest.fixture
def first_in_line(missing):
    """The group of processes that other work of this machine does not disturb."""
    if not can_provoke():
        missing("control groups and loop devices", HOW_TO_GET_THEM)
    with before_all_others() as group:
        yield group


@pytest.fixture
def measured(tmp_path, cores, first_in_line, monkeypatch, capsys):
    """Measure the suite on labels at N = 1 and 2, and give what is said to limit N = 2.

    `during`: what goes on while it is measured.
    """
    del cores
    monkeypatch.chdir(tmp_path)
    suite = tmp_path / "linking.toml"
    suite.write_text(SUITE)

    def measure(labels, *groups, cache="warm", during=None, env=None):
        words = ("run", suite, "--data", labels, "--workers", "1,2", "--repeats", "1")
        before = started_in(first_in_line, *groups)
        with during or nullcontext():
            told = answer_in(tmp_path, *words, "--cache", cache, before=before, **(env or {}))
        assert told.code == 0, told.err
        (stage,) = json.loads(answer_of(capsys, "pyscale", "advise", "--json").out)["stages"]
        (limit,) = (found for found in stage["limits"] if found["workers"] == 2)
        return dict(limit)

    return measure


def main_cause(limit):
    """Name of the first cause, which gains enough to be called the main one."""
    first = limit["causes"][0]
    assert first["efficiency"] > 1.05 * limit["efficiency"], limit
    return str(first["code"])


def test_a_straggler_is_named_imbalance(measured, labels):
    """Nearly all cells lie in the second half of the movie, the second worker's."""
    assert main_cause(measured(labels(MANY_LATE))) == "imbalance"


def test_a_delay_before_every_task_is_named_start_up(measured, labels, tmp_path):
    """It comes twice at N = 2, before the windows and before the merge."""
    delay_s = 3.0
    limit = measured(labels(FEW), env=slow_interpreter(tmp_path / "site", seconds=delay_s))
    assert main_cause(limit) == "start-up"
    # Imports alone, which grow with N too, cost a second.
    assert limit["causes"][0]["seconds"] > delay_s


def test_reading_from_a_slow_disk_is_named_reading(measured, labels, tmp_path):
    """Both workers share its bandwidth, so that two read no faster than one."""
    with disk_of_its_own(tmp_path, mebibytes=16) as disk:
        there = Path(shutil.copy(labels(FEW), disk))
        with slow_disk(disk, bytes_per_s=there.stat().st_size // 8) as group:
            assert main_cause(measured(there, group, cache="cold")) == "reading"


def test_another_program_on_a_worker_s_core_is_named_contention(
    measured, labels, cores, first_in_line
):
    """It takes the core that only the second worker runs on."""
    other = busy_core(cores[1], first_in_line, processes=2)
    assert main_cause(measured(labels(MANY), during=other)) == "contention"
