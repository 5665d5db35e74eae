"""Cores and memory are what the kernel and the batch system grant, and never what is installed."""

import os
import platform
import sys

import pytest

from pyscale.doctor import machine
from pyscale.doctor.machine import devices, torch_without_cuda
from pyscale_stages.measure.gpus import Gpu, gpu_present


@pytest.fixture
def one_cpu():
    """This process on one CPU only, as a scheduler binds it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_workers_that_need_more_cores_than_are_bound_are_a_warning(one_cpu, plan):
    few, many = (machine.cores(plan(workers=counts)) for counts in ((1,), (1, 2)))
    assert (few.code, few.status) == ("cpu.workers", "ok")
    assert (many.code, many.status) == ("cpu.workers", "warning")
    assert many.do.startswith("use --workers up to 1,")
    wide = machine.cores(plan(workers=(1,), cpus_per_worker=2))
    assert wide.status == "warning"


def test_threads_that_the_user_sets_have_no_effect(plan):
    environment = {"OMP_NUM_THREADS": "8", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS": "1"}
    (found,) = machine.thread_variables(environment, plan(cpus_per_worker=1))
    assert (found.code, found.where) == ("cpu.threads", "OMP_NUM_THREADS=8")


def test_variables_that_do_reach_a_task_are_named_unless_it_runs_in_an_image(plan):
    environment = {"OMP_PROC_BIND": "close", "CUDA_VISIBLE_DEVICES": "0"}
    (native,) = machine.thread_variables(environment, plan())
    assert (native.code, native.where) == ("cpu.environment", "OMP_PROC_BIND=close")
    assert list(machine.thread_variables(environment, plan(runtime="apptainer"))) == []


def test_memory_is_compared_with_the_tightest_limit(plan, monkeypatch):
    limits = {"free memory": 64 << 30, "the job's memory": 6 << 30}
    tight = machine.enough_memory(plan(workers=(1, 2)), limits)
    assert (tight.code, tight.status) == ("memory.workers", "warning")
    assert tight.do.startswith("use --workers up to 1,")
    assert machine.enough_memory(plan(workers=(1,)), limits).status == "ok"
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1000")
    assert machine.memory(plan()).status == "warning"


@pytest.mark.parametrize(
    ("load_1min", "cpus", "status"), [(0.3, 2, "ok"), (1.9, 2, "warning"), (1.9, 128, "ok")]
)
def test_a_loaded_machine_is_a_warning(load_1min, cpus, status):
    assert machine.load(load_1min, cpus).status == status


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
