"""Every node of a real cluster is measured at once, and those that take no jobs are named."""

import json
import os
import signal

import polars as pl
import pytest

from pyscale.store.tables import build_tables

pytestmark = pytest.mark.slow

SMALL = {
    "particles": 4,
    "particle_side_px": 16,
    "particle_files": 2,
    "movies": 1,
    "movie_frames": 1,
    "movie_side_px": 64,
    "movie_formats": ["mrc"],
    "small_files": 2,
    "readers": [1],
    "modes": ["cold"],
    "repeats": 1,
    "fio": False,
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that both nodes see, of which little is asked."""
    monkeypatch.setenv("PYSCALE_STAGES", json.dumps({"storage": SMALL}))
    folder = tmp_path / "to be measured"
    folder.mkdir()
    return folder


def start(runs, place, *flags):
    """Start a run of the storage of a place on every node."""
    return runs.command(
        *("run", "system", "--only", "storage", "--path", place, "--executor", "slurm"),
        *("--site", runs.site(), "--cpus-per-worker", "1", "--every-node"),
        *("--repeats", "1", *flags),
    )


def measured(runs):
    tasks = build_tables(runs.run).tasks
    return tasks.filter(pl.col("verb") == "run").sort("node")


def test_all_nodes_are_measured_at_once_by_one_job(runs, place):
    process = start(runs, place)
    with runs.in_its_middle(process, "w0", "w1") as launches:
        assert {launch.node for launch in launches} == set(runs.slurm.nodes)
        assert runs.job_of("w0") == runs.job_of("w1")
    runs.completed(process)
    tasks = measured(runs)
    assert tasks["node"].to_list() == list(runs.slurm.nodes)
    # Both were held while both ran.
    assert max(tasks["start_utc"]) < min(tasks["end_utc"])
    assert tasks["job_id"].n_unique() == 1
    timings = build_tables(runs.run).timings
    assert set(timings["node"]) == set(runs.slurm.nodes)
    assert list(place.iterdir()) == [], "what was written is gone"


def test_a_node_that_takes_no_jobs_is_left_out_of_the_run_also_when_it_is_back(runs, slurm, place):
    slurm.drain("n1")
    slurm.wait_for_node("n1", "idle+drain")
    process = start(runs, place)
    with runs.in_its_middle(process, "w0"):
        os.killpg(process.pid, signal.SIGTERM)
        code, said = runs.finished(process)
    assert code == 130
    assert "n1 of the partition cpu is drained (test) and is left out" in " ".join(said.split())
    slurm.heal()
    runs.say("run", "--resume", runs.run.path.name, "--detach")
    runs.say("status", runs.run.path.name, "--watch")
    assert measured(runs)["node"].to_list() == ["n2"]
    assert runs.set_aside() == ["storage-n1-b1.interrupted-1"]


def test_slurm_is_asked_for_all_gpus_of_all_nodes_at_once(runs, slurm, place):
    gpus = '[[override]]\ndevice = "cuda"\ngpus = 2\ngpu_type = "pretended"\n'
    option = 'gpu_option = "--gres=gpu:{type}:{count}"\n'
    file = runs.site(more=gpus)
    file.write_text(option + file.read_text())
    out = runs.say(
        *("run", "system", "--only", "kernels", "--device", "cuda", "--path", place),
        *("--executor", "slurm", "--site", file, "--cpus-per-worker", "1"),
        *("--every-node", "--dry-run"),
    )
    script = runs.home / "windows.sbatch"
    script.write_text("#!/bin/bash\n" + out.split("#!/bin/bash\n")[1])
    (held,) = slurm.job(slurm.submit("--hold", script))
    assert (held["NumNodes"], held["ReqNodeList"]) == ("2-2", "n[1-2]")
    assert held["TresPerTask"] == "gres:gpu:pretended:2"
    assert held["NtasksPerN:B:S:C"].startswith("1:")
    assert not (runs.home / "runs").exists()
