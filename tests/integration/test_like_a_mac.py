"""The whole pipeline where nothing of Linux is left that macOS lacks.

No Mac runs these tests: `tests/likeamac` takes away from every process of a run what one would not
have, and a stand-in says the processor's name.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from watchfiles import watch

from atleastone import some
from commandline import answer_in, commands
from movingsquares import write_moving_squares
from programs import put_program
from pyscale.store.folder import RunFolder
from pyscale.store.lock import lock_holder
from pyscale.store.records import LAUNCH_FILE
from pyscale.store.taskfiles import read_surroundings, read_task
from pyscale_stages.measure.binding import NOT_BOUND
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from waitingforruns import living, only_run, wait_for_event

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
STAGES = ("register_denoise", "segment", "contact", "track")
BRAND = "Apple M1"


@pytest.fixture(scope="module")
def like_a_mac(tmp_path_factory):
    """Variables of processes that find what a Mac has."""
    programs = tmp_path_factory.mktemp("bin")
    put_program(programs, "sysctl", f'[ "$*" = "-n machdep.cpu.brand_string" ] && echo {BRAND}')
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (TESTS / "likeamac", TESTS / "nofigures"))),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory, like_a_mac):
    folder = tmp_path_factory.mktemp("mac")
    made = SynthParams(frames=2, height_px=96, width_px=96, cells=8, cell_types=1, seed=5)
    movie = shutil.copy(write_synthetic_movie(folder / "made", made) / "movie.ome.tif", folder)
    few = ("--workers", "1,2", "--repeats", "1", "--cache", "cold")
    own = like_a_mac | {"PYSCALE_MIRROR": folder / "none", "PYSCALE_DATA_FOLDER": folder / "data"}
    ended = answer_in(folder, "run", "pipeline", "--data", movie, *few, **own)
    assert ended.code == 0, ended
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path)


@pytest.fixture(scope="module")
def results(run):
    return [
        read_task(run.task(trial, task)).result
        for trial in some(run.plan.trials)
        for task in some(trial.tasks)
    ]


def test_two_workers_compute_what_one_does_from_a_cache_that_nobody_controls(run):
    with (run.report / "benchmark_results_aggregated.csv").open() as file:
        rows = {(row["stage"], int(row["workers"])): row for row in csv.DictReader(file)}
    assert list(rows) == [(stage, n) for stage in STAGES for n in (1, 2)]
    assert {float(rows[stage, 2]["agreement"]) for stage in STAGES} == {1.0}
    assert {row["cache_state"] for row in rows.values()} == {"unsupported"}
    assert all("cache-uncontrolled" in row["flags"] for row in some(rows.values()))


def test_what_the_system_does_not_tell_is_null_and_the_rest_is_there(results):
    for result in some(results):
        used = result.counters
        assert (used.read_bytes, used.storage_read_bytes, used.cpu_wait_s) == (None,) * 3
        assert used.cpu_s > 0
        assert used.peak_rss_bytes > 0
        assert {cache.before.resident_bytes for cache in result.page_cache} <= {None}
        assert result.stamp["cpu"]["model"] == BRAND
        assert result.stamp["memory"]["total_bytes"] > 0
        assert result.stamp["limits"]["cpus"] is None
        assert {disk["fs_type"] for disk in some(result.stamp["filesystems"])} == {"unknown"}
        assert (result.spans[0].phase, result.spans[0].wall_s > 0) == ("python_start", True)


def test_no_worker_is_bound_and_the_report_says_so(run, results):
    for trial in some(run.plan.trials):
        for task in some(trial.tasks):
            record = read_task(run.task(trial, task))
            assert record.order.cpus
            assert record.launch.cpus == ()
    assert all("cores-not-bound" in [one.code for one in each.warned] for each in some(results))
    assert NOT_BOUND[1:] in (run.report / "scaling_analysis.md").read_text()


def test_what_wants_a_processor_beside_the_run_is_not_known(run):
    for trial in some(run.plan.trials):
        seen = read_surroundings(run.trial(trial))
        assert (seen.start.runnable, seen.end.runnable) == (None, None)


def test_tasks_of_a_killed_run_are_told_of_and_end_when_it_is_cancelled(
    like_a_mac, tmp_path, monkeypatch
):
    """No kernel of a Mac ends them with what started them."""
    monkeypatch.chdir(tmp_path)
    movie = write_moving_squares(tmp_path / "labels.ome.tif")
    step = ("--shell", "--step", "sleep 300; cp {input} {output}", "--data", str(movie))
    with commands(env=os.environ | like_a_mac) as start:
        begun = start("run", *step, "--workers", "1", "--repeats", "1", "--cache", "asis")
        wait_for_event("submitted", begun)
        run = only_run()
        (trial,) = run.plan.trials
        task = run.task(trial, "w0")
        for _ in watch(task, rust_timeout=100, yield_on_timeout=True, watch_filter=None):
            if (task / LAUNCH_FILE).exists():
                break
        psutil.Process(lock_holder(run.path).pid).kill()
        begun.kill()
    assert living(run)
    status = answer_in(tmp_path, "status", run.path.name, **like_a_mac)
    assert "still runs and would disturb" in " ".join(status.out.split())
    assert answer_in(tmp_path, "cancel", run.path.name, **like_a_mac).code == 0
    assert living(run) == []


ASKED = """
import json, time
from pyscale_stages.measure.cpus import usable_cpus
from pyscale_stages.measure.spans import process_start_monotonic_s
print(json.dumps([time.monotonic() - process_start_monotonic_s(), len(usable_cpus())]))
"""


def test_a_process_knows_when_it_began_and_its_cores(like_a_mac):
    environment = os.environ | like_a_mac
    words = [sys.executable, "-c", ASKED]
    ended = subprocess.run(words, env=environment, capture_output=True, check=True)
    since_s, cores = json.loads(ended.stdout)
    # Linux tells psutil the second in which it booted.
    assert -1 < since_s < 60
    assert 1 <= cores <= os.cpu_count()
