"""Emitted batch scripts on a real Slurm: they compute what `pyscale run` computes."""

import json
from pathlib import Path

import pytest

from commandline import answer_in
from movingsquares import write_moving_squares
from slurm.runs import complete_scripts, submit_scripts

DISK = "a node's disk"
SITE = """\
name = "ours"
summary = "a test's cluster"
memory_option = "mem-per-cpu"
gpu_option = "--gres=gpu:{type}:{count}"
setup = ["module() { echo \\"loaded $2\\"; }"]
modules = ["something"]
scratch = "$TEST_SCRATCH"

[request]
partition = "cpu"
cpus = 2
memory_gib = 1.5
time_min = 30

[[override]]
device = "cuda"
partition = "gpu"
gpu_type = "pretended"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A working folder with a blank in its name, and a site whose nodes have a disk beside it."""
    folder = tmp_path / "my work, 1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TEST_SCRATCH", str(folder / DISK))
    (folder / "ours.toml").write_text(SITE)
    return folder


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    """Six frames of cells that move and touch."""
    return write_moving_squares(tmp_path_factory.mktemp("movie") / "labels, [of] cells.ome.tif")


@pytest.fixture(scope="module")
def of_a_run(movie):
    """What a run of both stages on this machine leaves."""
    words = ("run", "labels", "--data", movie, "--workers", "1,2", "--seed", "3")
    options = ("--repeats", "1", "--cache", "asis", "--keep-outputs", "all")
    assert answer_in(movie.parent, *words, *options).code == 0
    (run,) = (movie.parent / "runs").iterdir()
    return outputs(run / "tasks")


def emit(folder, *arguments):
    answer = answer_in(Path(), "run", "labels", "--emit-sbatch", folder, *arguments)
    assert answer.code == 0, answer.err


def outputs(folder):
    """Every file of every output below a folder, by configuration, task and name."""
    return {
        "/".join(file.relative_to(folder).parts).replace("-b1/", "/"): file.read_bytes()
        for file in folder.glob("*/*/out/*")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("site", "stages"),
    [("plain", ("contact", "track")), ("ours.toml", ("contact",))],
    ids=["in place", "on scratch"],
)
def test_scripts_compute_the_same_bytes_as_a_run(slurm, home, movie, of_a_run, site, stages):
    only = [word for stage in stages for word in ("--only", stage)]
    emit("written", "--data", movie, "--workers", "1,2", "--seed", 3, "--site", site, *only)
    # Scripts go by where they are submitted from, not by where they were written.
    scripts = (home / "written").rename(home / "moved to the cluster")
    assert complete_scripts(slurm, scripts) == [
        f"{stage}-n{n}/{script}"
        for stage in stages
        for n, script in ((1, "windows.sbatch"), (2, "windows.sbatch"), (2, "merge.sbatch"))
    ]
    logs = [log.read_text() for log in scripts.glob("*/logs/*.log")]
    assert len(logs) == len(stages) * (1 + 2 + 1)

    expected = of_stages(of_a_run, *stages)
    assert len(expected) >= len(stages) * 4 * 2
    assert outputs(scripts) == expected
    for n, task in ((1, "w0"), (2, "w1"), (2, "merge")):
        record = json.loads((scripts / f"contact-n{n}" / task / "result.json").read_text())
        assert record["status"] == "done"
        assert record["stamp"]["slurm"]["SLURM_JOB_ID"]
    assert not list(scripts.rglob("*.partial"))
    if site != "plain":
        assert list((home / DISK).iterdir()) == []
        assert all(log.startswith("loaded something\n") for log in logs)


def of_stages(files, *stages):
    return {name: file for name, file in files.items() if name.partition("-n")[0] in stages}


@pytest.mark.slow
def test_scripts_of_images_compute_the_same_bytes_as_a_native_run(
    slurm, home, movie, of_a_run, built_images, monkeypatch
):
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(built_images.path))
    flags = ("--data", movie, "--workers", "1,2", "--seed", 3, "--only", "contact")
    emit("scripts", *flags, "--runtime", "apptainer", "--site", "ours.toml")
    complete_scripts(slurm, home / "scripts")
    assert outputs(home / "scripts") == of_stages(of_a_run, "contact")
    for task in ("w0", "w1", "merge"):
        record = json.loads((home / "scripts" / "contact-n2" / task / "result.json").read_text())
        assert record["stamp"]["image_sha256"] == built_images.read_lock().images["contact"].sha256
        assert record["stamp"]["slurm"]["SLURM_JOB_ID"]


def test_a_failed_job_keeps_the_exit_code_and_its_record_and_ends_what_waits_for_it(
    slurm, home, movie
):
    flags = ("--data", movie, "--workers", "2", "--only", "contact", "--site", "ours.toml")
    emit("scripts", *flags)
    (home / "scripts" / "contact-n2" / "params.json").write_text('{"nonsense": 1}')
    jobs = submit_scripts(slurm, home / "scripts")
    windows, merge = jobs["contact-n2/windows.sbatch"], jobs["contact-n2/merge.sbatch"]
    assert slurm.wait_for_jobs(windows, merge) == {windows: {"FAILED"}, merge: {"CANCELLED"}}
    assert {task["ExitCode"] for task in slurm.job(windows)} == {"2:0"}
    for worker in ("w0", "w1"):
        folder = home / "scripts" / "contact-n2" / worker
        assert [path.name for path in folder.iterdir()] == ["result.json"]
        error = json.loads((folder / "result.json").read_text())["error"]
        assert "nonsense" in error["message"]
    assert list((home / DISK).iterdir()) == []


def test_what_was_submitted_is_cancelled_where_the_rest_is_refused(slurm, home, movie):
    emit("scripts", "--data", movie, "--workers", "1,2")
    script = home / "scripts" / "track-n1" / "windows.sbatch"
    script.write_text(script.read_text().replace("--nodes=1", "--partition=no-such"))
    for node in slurm.nodes:
        # Nothing begins before it is cancelled.
        slurm.drain(node)
    said = slurm.run(home / "scripts" / "submit.sh", check=False)
    assert said.returncode != 0
    assert "because not all could be submitted" in said.stderr
    slurm.wait_for(slurm.has_no_job, "nothing waited")


def test_a_site_asks_slurm_for_what_it_says(slurm, home, movie):
    flags = ("--data", movie, "--workers", "2", "--device", "cuda", "--site", "ours.toml")
    emit("scripts", *flags)
    job = slurm.submit("--hold", home / "scripts" / "contact-n2" / "windows.sbatch")
    (held,) = slurm.job(job)
    assert held["Partition"] == "gpu"
    assert held["NumCPUs"] == "2"
    assert held["MinMemoryCPU"] == "768M"
    assert held["TresPerNode"] == "gres:gpu:pretended:1"
    assert held["TimeLimit"] == "00:30:00"
    assert held["ArrayTaskId"] == "0-1"


def test_a_script_submitted_from_elsewhere_says_so(slurm, home, movie, tmp_path):
    emit("scripts", "--data", movie, "--workers", "1", "--only", "track")
    script = home / "scripts" / "track-n1" / "windows.sbatch"
    job = slurm.submit(f"--output={tmp_path}/log", script)
    assert slurm.wait_for_jobs(job) == {job: {"FAILED"}}
    assert {task["ExitCode"] for task in slurm.job(job)} == {"2:0"}
    assert (
        "submit this script from the folder that holds track-n1" in (tmp_path / "log").read_text()
    )
