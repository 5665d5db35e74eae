"""Cores and memory are what the kernel and the batch system grant, and never what is installed."""

import os

import pytest

from pyscale.doctor import machine


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
