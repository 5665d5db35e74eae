"""Emitted batch scripts on a real Slurm: they compute what `pyscale run` computes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyscale.images.lockfile import ImageFolder
from pyscale_stages.moviewriter import write_movie
from slurm.cluster import SlurmCluster

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
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a blank in its name."""
    folder = tmp_path / "my work, 1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # Compiled kernels are kept: what is tested here is not their compilation.
    monkeypatch.setenv("PYSCALE_STAGES", '{"contact": {"kernel_cache": "user"}}')
    return folder


@pytest.fixture
def movie(home: Path) -> Path:
    """Six frames of cells that move and touch."""
    frames = np.zeros((6, 48, 48), np.uint16)
    for t in range(6):
        frames[t, 4 + t : 12 + t, 4:12] = 1
        frames[t, 4 + t : 12 + t, 12:20] = 2
        frames[t, 30:38, 20 + t : 28 + t] = 3
    path = home / "labels, [of] cells.ome.tif"
    write_movie(path, frames, "TYX")
    return path


def pyscale(*arguments: object) -> str:
    command = [sys.executable, "-m", "pyscale", "run", "labels", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def submit(slurm: SlurmCluster, folder: Path) -> dict[str, str]:
    """Submit a folder's scripts; return the job of each."""
    said = slurm.run(folder / "submit.sh").stdout
    return dict(re.findall(r"^(\S+): job (\d+)$", said, re.MULTILINE))


def outputs(folder: Path) -> dict[str, bytes]:
    """Every file of every output below a folder, by configuration, task and name."""
    return {
        "/".join(file.relative_to(folder).parts).replace("-b1/", "/"): file.read_bytes()
        for file in folder.glob("*/*/out/*")
    }


@pytest.mark.slow
@pytest.mark.parametrize("scratch", [False, True], ids=["in place", "on scratch"])
def test_scripts_compute_the_same_bytes_as_a_run(
    slurm: SlurmCluster, home: Path, movie: Path, scratch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = home / "a node's disk"
    monkeypatch.setenv("TEST_SCRATCH", str(disk))
    (home / "ours.toml").write_text(SITE)
    site = "ours.toml" if scratch else "plain"
    common = ("--data", movie, "--workers", "1,2", "--seed", 3)
    pyscale(*common, "--emit-sbatch", "written", "--site", site)
    # Scripts go by where they are submitted from, not by where they were written.
    scripts = (home / "written").rename(home / "moved to the cluster")
    jobs = submit(slurm, scripts)
    assert list(jobs) == [
        f"{stage}-n{n}/{script}"
        for stage in ("contact", "track")
        for n, script in ((1, "windows.sbatch"), (2, "windows.sbatch"), (2, "merge.sbatch"))
    ]
    ended = slurm.wait_for_jobs(*jobs.values())
    logs = {log.name: log.read_text() for log in scripts.glob("*/logs/*.log")}
    assert ended == {job: {"COMPLETED"} for job in jobs.values()}, logs
    assert len(logs) == 2 * (1 + 2 + 1)

    pyscale(*common, "--repeats", 1, "--cache", "asis", "--keep-outputs", "all")
    (run,) = (home / "runs").iterdir()
    expected = outputs(run / "tasks")
    assert len(expected) >= 2 * 4 * 2
    assert outputs(scripts) == expected
    for n, task in ((1, "w0"), (2, "w1"), (2, "merge")):
        record = json.loads((scripts / f"contact-n{n}" / task / "result.json").read_text())
        assert record["status"] == "done"
        assert record["stamp"]["slurm"]["SLURM_JOB_ID"]
    assert not list(scripts.rglob("*.partial"))
    if scratch:
        assert list(disk.iterdir()) == []
        assert all(log.startswith("loaded something\n") for log in logs.values())


@pytest.mark.slow
@pytest.mark.parametrize("site", ["plain", "ours.toml"], ids=["in place", "on scratch"])
def test_scripts_of_images_compute_the_same_bytes_as_a_native_run(
    slurm: SlurmCluster,
    home: Path,
    movie: Path,
    built_images: ImageFolder,
    site: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_SCRATCH", str(home / "a node's disk"))
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(built_images.path))
    # A cache outside its folders is what no image has.
    monkeypatch.delenv("PYSCALE_STAGES")
    (home / "ours.toml").write_text(SITE)
    common = ("--data", movie, "--workers", "1,2", "--only", "contact")
    pyscale(*common, "--runtime", "apptainer", "--emit-sbatch", "scripts", "--site", site)
    jobs = submit(slurm, home / "scripts")
    ended = slurm.wait_for_jobs(*jobs.values())
    logs = {log.name: log.read_text() for log in home.glob("scripts/*/logs/*.log")}
    assert ended == {job: {"COMPLETED"} for job in jobs.values()}, logs

    pyscale(*common, "--repeats", 1, "--cache", "asis", "--keep-outputs", "all")
    (run,) = (home / "runs").iterdir()
    assert outputs(home / "scripts") == outputs(run / "tasks")
    for task in ("w0", "w1", "merge"):
        record = json.loads((home / "scripts" / "contact-n2" / task / "result.json").read_text())
        assert record["stamp"]["image_sha256"] == built_images.read_lock().images["contact"].sha256
        assert record["stamp"]["slurm"]["SLURM_JOB_ID"]


def test_a_failed_job_keeps_the_exit_code_and_its_record_and_ends_what_waits_for_it(
    slurm: SlurmCluster, home: Path, movie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = home / "disk"
    monkeypatch.setenv("TEST_SCRATCH", str(disk))
    (home / "ours.toml").write_text(SITE)
    flags = ("--data", movie, "--workers", "2", "--only", "contact", "--site", "ours.toml")
    pyscale(*flags, "--emit-sbatch", "scripts")
    (home / "scripts" / "contact-n2" / "params.json").write_text('{"nonsense": 1}')
    jobs = submit(slurm, home / "scripts")
    windows, merge = jobs["contact-n2/windows.sbatch"], jobs["contact-n2/merge.sbatch"]
    assert slurm.wait_for_jobs(windows, merge) == {windows: {"FAILED"}, merge: {"CANCELLED"}}
    assert {task["ExitCode"] for task in slurm.job(windows)} == {"2:0"}
    for worker in ("w0", "w1"):
        folder = home / "scripts" / "contact-n2" / worker
        assert [path.name for path in folder.iterdir()] == ["result.json"]
        error = json.loads((folder / "result.json").read_text())["error"]
        assert "nonsense" in error["message"]
    assert list(disk.iterdir()) == []


def test_what_was_submitted_is_cancelled_where_the_rest_is_refused(
    slurm: SlurmCluster, home: Path, movie: Path
) -> None:
    pyscale("--data", movie, "--workers", "1,2", "--emit-sbatch", "scripts")
    script = home / "scripts" / "track-n1" / "windows.sbatch"
    script.write_text(script.read_text().replace("--nodes=1", "--partition=no-such"))
    for node in slurm.nodes:
        # Nothing begins before it is cancelled.
        slurm.drain(node)
    said = slurm.run(home / "scripts" / "submit.sh", check=False)
    assert said.returncode != 0
    assert "because not all could be submitted" in said.stderr
    slurm.wait_for(slurm.has_no_job, "nothing waited")


def test_a_site_asks_slurm_for_what_it_says(slurm: SlurmCluster, home: Path, movie: Path) -> None:
    (home / "ours.toml").write_text(SITE)
    flags = ("--data", movie, "--workers", "2", "--device", "cuda", "--site", "ours.toml")
    pyscale(*flags, "--emit-sbatch", "scripts")
    job = slurm.submit("--hold", home / "scripts" / "contact-n2" / "windows.sbatch")
    (held,) = slurm.job(job)
    assert held["Partition"] == "gpu"
    assert held["NumCPUs"] == "2"
    assert held["MinMemoryCPU"] == "768M"
    assert held["TresPerNode"] == "gres:gpu:pretended:1"
    assert held["TimeLimit"] == "00:30:00"
    assert held["ArrayTaskId"] == "0-1"


def test_a_script_submitted_from_elsewhere_says_so(
    slurm: SlurmCluster, home: Path, movie: Path, tmp_path: Path
) -> None:
    pyscale("--data", movie, "--workers", "1", "--only", "track", "--emit-sbatch", "scripts")
    script = home / "scripts" / "track-n1" / "windows.sbatch"
    job = slurm.submit(f"--output={tmp_path}/log", script)
    assert slurm.wait_for_jobs(job) == {job: {"FAILED"}}
    assert {task["ExitCode"] for task in slurm.job(job)} == {"2:0"}
    assert (
        "submit this script from the folder that holds track-n1" in (tmp_path / "log").read_text()
    )
