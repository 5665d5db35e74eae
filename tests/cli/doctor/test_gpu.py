"""A GPU that is asked for and is not there is a problem, with the way to one."""

import platform
import sys

import pytest

from pyscale.doctor.machine import devices, torch_without_cuda
from pyscale_stages.measure.gpus import Gpu, gpu_present

without_gpu = pytest.mark.skipif(gpu_present(), reason="this machine has a GPU")


def test_nothing_is_asked_of_a_gpu_that_is_not_wanted(plan):
    assert list(devices(plan(device="cpu"))) == []


@without_gpu
def test_a_machine_without_gpu_says_where_to_run(plan):
    (found,) = devices(plan("pipeline", device="cuda"))
    assert (found.code, found.status) == ("gpu.device", "problem")
    assert "in a container with --nv" in found.do


@pytest.mark.parametrize(("system", "status"), [("darwin", "ok"), ("linux", "problem")])
def test_a_mac_with_apple_silicon_has_mps_and_nothing_else_has(system, status, plan, monkeypatch):
    asked = plan("pipeline", device="mps")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "platform", system)
    (found,) = devices(asked)
    assert (found.code, found.status) == ("gpu.device", status)


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
            "pyscale.doctor.machine.describe_gpus", lambda: (Gpu.model_validate(described),)
        )

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return put


@pytest.mark.parametrize(
    ("build", "driver", "what"),
    [
        (None, "13.0", "built without CUDA"),
        ("13.0", "12.4", "built for CUDA 13.0, but the NVIDIA driver supports only CUDA 12.4"),
        # Within a major version an older driver serves a newer build.
        ("12.8", "12.2", None),
    ],
)
def test_a_torch_that_cannot_use_the_gpu_is_named_before_the_run(
    plan, torch_built_for, build, driver, what
):
    torch_built_for(build, driver)
    found = [str(one) for one in torch_without_cuda(plan("pipeline", device="cuda"))]
    assert [one.startswith(f"torch: {what}") for one in found] == [True] * bool(what)
    assert list(torch_without_cuda(plan("pipeline", device="cpu"))) == []
    assert list(torch_without_cuda(plan("pipeline", device="cuda", runtime="apptainer"))) == []
