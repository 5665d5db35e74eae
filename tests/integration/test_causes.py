"""Causes of lost efficiency, provoked in real runs, are named for what they are."""

import json
import shutil
from pathlib import Path

import pytest

from commandline import answer_in
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
SMALL_CELLS = {"radius_px": 3, "speed_px": 0.5, "division_rate": 0, "max_drift_px": 0}
EVENLY_CROWDED = ("--frames", "24", "--cells", "4000")
CROWDED_LATE = (
    "--frames",
    "90",
    "--cells",
    "250",
    "--density",
    "burst",
    "--set",
    "density_peak=20",
)


def pyscale(folder, *arguments, groups=(), env=None):
    """Run a command in a folder of its own and return its answer."""
    own = {"PYSCALE_DATA_FOLDER": folder / "data", "PYSCALE_RUNS_FOLDER": folder / "runs"}
    before = started_in(*groups)
    told = answer_in(folder, *arguments, before=before, **own, **(env or {}))
    assert told.code == 0, told.err
    return told.out


@pytest.fixture(scope="module")
def labels_of(tmp_path_factory):
    """Make a synthetic movie and give its exact labels."""
    folder = tmp_path_factory.mktemp("movies")

    def make(*how):
        settings = [f"--set={name}={value}" for name, value in SMALL_CELLS.items()]
        name = f"cells{len(list(folder.glob('data/*')))}"
        movie = Path(pyscale(folder, "data", "synth", name, *how, *settings).strip())
        return movie.parent / "truth" / "camera" / "labels_ch0.ome.tif"

    return make


@pytest.fixture(scope="module")
def even(labels_of):
    return labels_of(*EVENLY_CROWDED)


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
def measured(tmp_path, cores, first_in_line):
    """Measure the suite on labels at N = 1 and 2, and give what is said to limit N = 2."""
    del cores
    suite = tmp_path / "linking.toml"
    suite.write_text(SUITE)

    def measure(labels, *groups, cache="warm", env=None):
        options = ("--workers", "1,2", "--repeats", "1", "--cache", cache)
        all_groups = (first_in_line, *groups)
        pyscale(tmp_path, "run", suite, "--data", labels, *options, groups=all_groups, env=env)
        (stage,) = json.loads(pyscale(tmp_path, "advise", "--json"))["stages"]
        (limit,) = (found for found in stage["limits"] if found["workers"] == 2)
        return dict(limit)

    return measure


def main_cause(limit):
    """Name of the first cause, which gains enough to be called the main one."""
    first = limit["causes"][0]
    assert first["efficiency"] > 1.05 * limit["efficiency"], limit
    return str(first["code"])


def test_a_straggler_is_named_imbalance(measured, labels_of):
    """Nearly all cells lie in the second half of the movie, the second worker's."""
    assert main_cause(measured(labels_of(*CROWDED_LATE))) == "imbalance"


def test_a_delay_before_every_task_is_named_start_up(measured, even, tmp_path):
    """It comes twice at N = 2, before the windows and before the merge."""
    delay_s = 6.0
    limit = measured(even, env=slow_interpreter(tmp_path / "site", seconds=delay_s))
    assert main_cause(limit) == "start-up"
    # Imports alone, which grow with N too, cost a second.
    assert limit["causes"][0]["seconds"] > delay_s


def test_reading_from_a_slow_disk_is_named_reading(measured, even, tmp_path):
    """Both workers share its bandwidth, so that two read no faster than one."""
    with disk_of_its_own(tmp_path, mebibytes=16) as disk:
        labels = Path(shutil.copy(even, disk))
        bytes_per_s = labels.stat().st_size // 8
        with slow_disk(disk, bytes_per_s=bytes_per_s) as group:
            assert main_cause(measured(labels, group, cache="cold")) == "reading"


def test_another_program_on_a_worker_s_core_is_named_contention(
    measured, even, cores, first_in_line
):
    """It takes the core that only the second worker runs on."""
    with busy_core(cores[1], first_in_line, processes=2):
        assert main_cause(measured(even)) == "contention"
