"""A GPU that is asked for and is not there is a problem, with the way to one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.doctor.gpu import gpu, missing_device
from pyscale.doctor.subject import Subject
from pyscale_stages.measure.gpus import gpu_present

SubjectMaker = Callable[..., Subject]
without_gpu = pytest.mark.skipif(gpu_present(), reason="this machine has a GPU")


@pytest.fixture
def no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def test_nothing_is_asked_of_a_gpu_that_is_not_wanted(subject: SubjectMaker) -> None:
    (found,) = gpu(subject(device="cpu"))
    assert found.status == "not applicable"
    assert missing_device("cpu") is None


@without_gpu
def test_a_machine_without_gpu_says_where_to_run(subject: SubjectMaker, no_slurm: None) -> None:
    found, stages = gpu(subject("pipeline", device="cuda"))
    assert (found.check, found.status) == ("gpu.device", "problem")
    assert "in a container with --nv" in found.remedy
    assert (
        stages.sentence == "register_denoise and track have no kernel for cuda and run on the CPU"
    )


@without_gpu
def test_a_login_node_is_named_as_one(
    subject: SubjectMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sinfo").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    found, *_ = gpu(subject(device="cuda"))
    assert "login node" in found.sentence
    assert "--partition" in found.remedy
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    in_a_job, *_ = gpu(subject(device="cuda"))
    assert "login node" not in in_a_job.sentence


@pytest.mark.skipif(sys.platform == "darwin", reason="this is a Mac")
def test_mps_needs_a_mac() -> None:
    found = missing_device("mps")
    assert found is not None
    assert "this is Linux" in found.sentence
