"""What this machine shows of a run whose tasks are on other nodes."""

import sys
from pathlib import Path

import pytest

from pyscale.doctor.elsewhere import misread_by_slurm, out_of_nodes_sight, overriding

SHARED = Path("/home/of us/pyscale")


@pytest.fixture(autouse=True)
def environment_is_shared(monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/")


def test_folders_that_each_machine_has_of_its_own_are_a_warning(monkeypatch):
    assert list(out_of_nodes_sight(SHARED / "runs", SHARED / "movie.tif")) == []
    (found,) = out_of_nodes_sight(Path("/tmp/not there/runs"), SHARED / "movie.tif")
    assert (found.check, found.status) == ("disk.shared.runs", "warning")
    assert "/tmp/not there/runs" in found.sentence
    (found,) = out_of_nodes_sight(SHARED / "runs", Path("/var/tmp/movie.tif"))
    assert found.check == "disk.shared.data"
    monkeypatch.setattr(sys, "prefix", "/tmp/environment")
    (found,) = out_of_nodes_sight(SHARED / "runs", SHARED / "movie.tif")
    assert found.check == "disk.shared.environment"
    monkeypatch.setattr(sys, "prefix", "/")
    script = Path("/tmp/mine/step.py")
    (found,) = out_of_nodes_sight(SHARED / "runs", None, [SHARED, script])
    assert found.check == "disk.shared.step"
    assert found.sentence.startswith("what the step runs, /tmp/mine/step.py, is in a folder")


def test_a_disk_in_memory_is_seen_by_its_own_machine_alone(small_disk, monkeypatch):
    disk = small_disk("size=64k")
    # Where nothing else of its path tells.
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    found = [one.check for one in out_of_nodes_sight(disk / "runs", SHARED)]
    assert found == ["disk.shared.runs"]


@pytest.mark.parametrize("name", ["100%", "a\\b", "%j"])
def test_a_folder_whose_logs_slurm_would_not_find_is_refused(name):
    assert list(misread_by_slurm(Path("/home/of us, [all]/'$5'"))) == []
    (found,) = misread_by_slurm(Path("/home") / name / "runs")
    assert found.status == "problem"
    assert f"/home/{name}/runs" in found.sentence


def test_variables_that_sbatch_obeys_before_a_script_are_refused():
    assert list(overriding({"SBATCH_EXPORT": "NONE", "PATH": "/bin"})) == []
    (found,) = overriding({"SBATCH_TIMELIMIT": "5", "SBATCH_ACCOUNT": "lab"})
    assert found.status == "problem"
    assert found.sentence.startswith("SBATCH_ACCOUNT=lab, SBATCH_TIMELIMIT=5 in this environment")
