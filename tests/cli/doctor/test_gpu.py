"""A GPU that is asked for and is not there is a problem, with the way to one."""

import sys

import pytest

from pyscale.doctor.gpu import gpu, missing_device, torch_without_cuda
from pyscale_stages.measure.gpus import Gpu, gpu_present

without_gpu = pytest.mark.skipif(gpu_present(), reason="this machine has a GPU")


@pytest.fixture
def no_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_nothing_is_asked_of_a_gpu_that_is_not_wanted(subject):
    (found,) = gpu(subject(device="cpu"))
    assert found.status == "not applicable"
    assert missing_device("cpu") is None


@without_gpu
def test_a_machine_without_gpu_says_where_to_run(subject, no_slurm):
    found, stages = gpu(subject("pipeline", device="cuda"))
    assert (found.check, found.status) == ("gpu.device", "problem")
    assert "in a container with --nv" in found.remedy
    assert (
        stages.sentence == "register_denoise and track have no kernel for cuda and run on the CPU"
    )


@without_gpu
def test_a_login_node_is_named_as_one(subject, tmp_path, monkeypatch):
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
def test_mps_needs_a_mac():
    found = missing_device("mps")
    assert found is not None
    assert "this is Linux" in found.sentence


@pytest.fixture
def torch_built_for(tmp_path, monkeypatch):
    """Put a torch of some build into this environment, and a GPU whose driver knows some CUDA."""

    def put(build, driver):
        folder = tmp_path / "torch"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text("raise ImportError('torch must not be imported')")
        (folder / "version.py").write_text(
            "from typing import Optional\n\n__version__ = '2.13.0+x'\ndebug = False\n"
            f"cuda: Optional[str] = {build!r}\ngit_version = 'c'\n"
        )
        described = dict.fromkeys(Gpu.model_fields) | {"name": "A100", "cuda": driver}
        monkeypatch.setattr(
            "pyscale.doctor.gpu.describe_gpus", lambda: (Gpu.model_validate(described),)
        )

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return put


@pytest.mark.parametrize(
    ("build", "driver", "said"),
    [
        (None, "13.0", "of this environment is built without CUDA"),
        ("13.0", "12.4", "is built for CUDA 13.0, but the NVIDIA driver supports only CUDA 12.4"),
        # Within a major version an older driver serves a newer build.
        ("12.8", "12.2", None),
        ("12.8", "13.1", None),
    ],
)
def test_a_torch_that_cannot_use_the_gpu_is_named_before_the_run(
    subject, torch_built_for, build, driver, said
):
    torch_built_for(build, driver)
    found = list(torch_without_cuda(subject("pipeline", device="cuda")))
    problem = ("gpu.torch", "problem", f"torch 2.13.0+x {said}")
    assert [(one.check, one.status, one.sentence) for one in found] == [problem] * bool(said)
    assert list(torch_without_cuda(subject("pipeline", device="cpu"))) == []
    assert list(torch_without_cuda(subject("pipeline", device="cuda", runtime="apptainer"))) == []
