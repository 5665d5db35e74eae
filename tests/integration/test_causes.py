"""Causes of lost efficiency, provoked in real runs, are named for what they are."""

import json
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from commandline import answer_in, answer_of
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
from pyscale_stages.moviewriter import write_movie

pytestmark = pytest.mark.slow

FRAMES = 8
COUNTS_OF_A_SECOND = 12_000_000
"""How far Python counts on a core in about that time, from which every cost below is made."""
STEP = """
import sys

source, output, first, stop, *costs = sys.argv[1:]
print("::phase read", file=sys.stderr, flush=True)
with open(source, "rb") as file:
    file.read()
print("::phase compute", file=sys.stderr, flush=True)
frames = range(int(first), int(stop))
for frame in frames:
    count = int(costs[frame])
    while count:
        count -= 1
with open(output, "w") as rows:
    print("frame", *frames, sep="\\n", file=rows)
"""


def step(costs_s):
    """Ask for the step below, where each frame takes so many seconds of a core."""
    costs = " ".join(str(int(cost_s * COUNTS_OF_A_SECOND)) for cost_s in costs_s)
    line = f"{sys.executable} -S step.py {{input}} {{output}} {{first}} {{stop}} {costs}"
    return ("--step", line, "--output", "rows.csv")


EVEN = step([0.25] * FRAMES)
LATE = step([0.0] * (FRAMES // 2) + [1.0] * (FRAMES // 2))


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
def movie(tmp_path):
    """A movie of as many frames, of 2 MiB."""
    path = tmp_path / "movie.ome.tif"
    # Noise, so that nothing packs it.
    noise = np.random.default_rng(0).integers(0, 1 << 16, (FRAMES, 512, 256), np.uint16)
    write_movie(path, noise, "TYX")
    return path


@pytest.fixture
def measured(tmp_path, cores, first_in_line, monkeypatch, capsys):
    """Measure a run at N = 1 and 2, and give what is said to limit N = 2.

    `during`: what goes on while it is measured.
    """
    del cores
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(STEP)

    def measure(movie, words, *groups, cache="warm", during=None, env=None):
        before = started_in(first_in_line, *groups)
        with during or nullcontext():
            once = ("--workers", "1,2", "--repeats", "1", "--cache", cache)
            words = ("run", *words, "--data", movie, *once)
            told = answer_in(tmp_path, *words, before=before, **(env or {}))
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


def test_a_straggler_is_named_imbalance(measured, movie):
    """All work lies in the second half of the movie, the second worker's."""
    assert main_cause(measured(movie, LATE)) == "imbalance"


def test_a_delay_before_every_task_is_named_start_up(measured, movie, tmp_path):
    """It comes twice at N = 2, before the windows and before the merge."""
    delay_s = 3.0
    limit = measured(movie, EVEN, env=slow_interpreter(tmp_path / "site", seconds=delay_s))
    assert main_cause(limit) == "start-up"
    # Imports alone, which grow with N too, cost a second.
    assert limit["causes"][0]["seconds"] > delay_s


def test_reading_from_a_slow_disk_is_named_reading(measured, movie, tmp_path):
    """Both workers share its bandwidth, so that two read no faster than one."""
    with disk_of_its_own(tmp_path, mebibytes=16) as disk:
        there = Path(shutil.copy(movie, disk))
        with slow_disk(disk, bytes_per_s=there.stat().st_size // 6) as group:
            assert main_cause(measured(there, EVEN, group, cache="cold")) == "reading"


def test_another_program_on_a_worker_s_core_is_named_contention(
    measured, tmp_path, cores, first_in_line
):
    """It takes the core that only the second worker runs on.

    The kernel tells of threads of the stage's process how long they waited, so no step will do.
    """
    cell = np.zeros((24, 24), np.uint16)
    cell[2:-2, 2:-2] = 1
    numbers = np.arange(1, 3601, dtype=np.uint16).reshape(60, 60)
    labels = tmp_path / "labels.ome.tif"
    write_movie(labels, np.stack([np.kron(numbers, cell)] * 12), "TYX")
    other = busy_core(cores[1], first_in_line, processes=2)
    words = ("labels", "--only", "contact")
    assert main_cause(measured(labels, words, during=other)) == "contention"
