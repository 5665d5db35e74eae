"""Emitted batch scripts on a real Slurm: they compute what `pyscale run` computes."""

import json
import shlex
import sys

import pytest

from movingsquares import write_moving_squares
from slurm.runs import complete_scripts, submit_scripts
from slurm.test_ranks import RANK, places

DISK = "a node's disk"
SITE = """\
name = "ours"
summary = "a test's cluster"
setup = ["module() { echo \\"loaded $2\\"; }"]
modules = ["something"]
scratch = "$TEST_SCRATCH"

[request]
options = ["--partition=cpu", "--mem-per-cpu={memory_mib_per_core}M"]
cpus = 2
memory_gib = 1.5
time_min = 30

[[override]]
device = "cuda"
options = ["--partition=gpu", "--gpus-per-task=pretended:{gpus}"]
"""


@pytest.fixture
def home(runs, tmp_path, monkeypatch):
    """A working folder with a blank in its name, and a site whose nodes have a disk beside it."""
    folder = tmp_path / "my work, 1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TEST_SCRATCH", str(folder / DISK))
    (folder / "ours.toml").write_text(SITE)
    write_moving_squares(folder / "labels, [of] cells.ome.tif")
    return folder


@pytest.fixture
def emit(runs, home):
    """Write the scripts of contacts into a folder, which is then moved; return it."""

    def write(*words):
        what = ("run", "labels", "--data", "labels, [of] cells.ome.tif", "--only", "contact")
        runs.say(*what, "--emit", "written", "--set", "seed=3", *words)
        # Scripts go by where they are submitted from, not by where they were written.
        return (home / "written").rename(home / "moved to the cluster")

    return write


def outputs(folder):
    """Every file of every output below a folder, by configuration, task and name."""
    return {
        "/".join(file.relative_to(folder).parts).replace("-b1/", "/"): file.read_bytes()
        for file in folder.glob("*/*/out/*")
    }


@pytest.mark.slow
@pytest.mark.parametrize("site", ["plain", "ours.toml"], ids=["in place", "on scratch"])
def test_scripts_compute_the_same_bytes_as_a_run(slurm, home, emit, of_one_machine, site):
    scripts = emit("--workers", "2", "--site", site)
    names = complete_scripts(slurm, scripts)
    assert names == ["contact-n2/windows.sbatch", "contact-n2/merge.sbatch"]
    logs = [log.read_text() for log in scripts.glob("*/logs/*.log")]
    assert len(logs) == 3
    expected = outputs(of_one_machine.path / "tasks")
    found = outputs(scripts)
    assert len(found) >= 6
    assert found == {name: expected[name] for name in found}
    for task in ("w0", "w1", "merge"):
        record = json.loads((scripts / "contact-n2" / task / "result.json").read_text())
        assert record["status"] == "done"
        assert record["stamp"]["slurm"]["SLURM_JOB_ID"]
    if site != "plain":
        assert list((home / DISK).iterdir()) == []
        assert all(log.startswith("loaded something\n") for log in logs)


@pytest.mark.slow
def test_scripts_let_ranks_on_two_nodes_find_each_other(runs, slurm, home):
    (home / "rank.py").write_text(RANK)
    step = f"{sys.executable} {shlex.quote(str(home))}/rank.py {{input}} {{output}}"
    (home / "data.txt").write_text("what they read")
    runs.say(
        *("run", "--step", step, "--split", "ranks", "--output", "told.txt", "--check", "none"),
        *(
            "--data",
            "data.txt",
            "--workers",
            "3",
            "--emit",
            "scripts",
            "--site",
            "ours.toml",
        ),
    )
    complete_scripts(slurm, home / "scripts")
    (told,) = (home / "scripts" / "step-n3").glob("w0/**/told.txt")
    assert {node for node, _ in places(told)} == set(slurm.nodes)


def test_a_failed_job_keeps_the_exit_code_and_its_record_and_ends_what_waits_for_it(
    slurm, home, emit
):
    scripts = emit("--workers", "2", "--site", "ours.toml")
    (scripts / "contact-n2" / "params.json").write_text('{"nonsense": 1}')
    jobs = submit_scripts(slurm, scripts)
    windows, merge = jobs["contact-n2/windows.sbatch"], jobs["contact-n2/merge.sbatch"]
    assert slurm.wait_for_jobs(windows, merge) == {windows: {"FAILED"}, merge: {"CANCELLED"}}
    assert {task["ExitCode"] for task in slurm.job(windows)} == {"2:0"}
    for worker in ("w0", "w1"):
        folder = scripts / "contact-n2" / worker
        assert [path.name for path in folder.iterdir()] == ["result.json"]
        error = json.loads((folder / "result.json").read_text())["error"]
        assert "nonsense" in error["message"]
    assert list((home / DISK).iterdir()) == []


def test_what_was_submitted_is_cancelled_where_the_rest_is_refused(slurm, emit):
    scripts = emit("--workers", "1,2", "--site", "ours.toml")
    script = scripts / "contact-n2" / "windows.sbatch"
    script.write_text(script.read_text().replace("--partition=cpu", "--partition=no-such"))
    for node in slurm.nodes:
        # Nothing begins before it is cancelled.
        slurm.drain(node)
    said = slurm.run(scripts / "submit.sh", check=False)
    assert said.returncode != 0
    assert "because not all could be submitted" in said.stderr
    slurm.wait_for(slurm.has_no_job, "nothing waited")


def test_a_script_asks_slurm_for_what_its_site_says_and_runs_from_its_folder_alone(
    slurm, emit, tmp_path
):
    scripts = emit("--workers", "2", "--device", "cuda", "--site", "ours.toml")
    script = scripts / "contact-n2" / "windows.sbatch"
    (held,) = slurm.job(slurm.submit("--hold", script))
    assert held["Partition"] == "gpu"
    assert held["NumCPUs"] == "2"
    assert held["MinMemoryCPU"] == "768M"
    assert held["TresPerTask"] == "gres:gpu:pretended:1"
    assert held["TimeLimit"] == "00:30:00"
    assert held["ArrayTaskId"] == "0-1"
    elsewhere = slurm.submit(f"--output={tmp_path}/log", "--array=0", script)
    assert slurm.wait_for_jobs(elsewhere) == {elsewhere: {"FAILED"}}
    assert {task["ExitCode"] for task in slurm.job(elsewhere)} == {"2:0"}
    assert "submit this script from the folder" in (tmp_path / "log").read_text()
