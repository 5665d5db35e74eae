"""Cores and memory are what the kernel and the batch system grant, and never what is installed."""

import os

import pytest

from pyscale.doctor import cores


@pytest.fixture
def one_cpu():
    """This process on one CPU only, as a scheduler binds it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield min(before)
    os.sched_setaffinity(0, before)


def bounds(**changes):
    given = {
        "installed": 64,
        "affinity": 4,
        "quota": None,
        "slurm": None,
        "usable": (0, 1, 2, 3),
        "cores": 4,
    }
    return cores.Bounds(**(given | changes))


def test_the_affinity_mask_bounds_the_cores_and_more_workers_are_a_warning(
    one_cpu, subject, monkeypatch
):
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    found = cores.Bounds.of_this_process(os.environ)
    assert (found.affinity, list(found.usable), found.cores) == (1, [one_cpu], 1)
    assert cores.usable(found).sentence.startswith(f"1 of {os.cpu_count()} CPUs are usable")
    by_check = {finding.check: finding for finding in cores.cores(subject(workers=(1, 2)))}
    assert by_check["cpu.workers"].status == "warning"
    assert by_check["cpu.workers"].remedy.startswith("use --workers up to 1,")


def test_a_task_that_slurm_grants_one_cpu_has_one(monkeypatch):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    found = cores.Bounds.of_this_process(os.environ)
    assert (found.slurm, len(found.usable)) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"affinity": 64, "slurm": 4}, "does not bind"),
        ({"affinity": 1, "slurm": 4}, "grants more CPUs"),
        ({"quota": 0.5, "usable": (0,), "cores": 1}, "0.5 by the control group's quota"),
    ],
)
def test_bounds_that_contradict_each_other_or_halt_workers_are_a_warning(changes, said):
    found = cores.usable(bounds(**changes))
    assert found.status == "warning"
    assert said in found.sentence


def test_second_threads_of_a_core_are_counted_apart(subject):
    assert "2 of 4 usable CPUs are hyperthreads" in cores.hyperthreads(bounds(cores=2)).sentence
    assert cores.enough(bounds(cores=2), workers=4, cpus_per_worker=1).status == "warning"
    assert cores.enough(bounds(cores=2), workers=1, cpus_per_worker=2).status == "ok"
    assert subject(workers=(1, 4), cpus_per_worker=2).widest == (4, 2)


def test_threads_that_the_user_sets_are_said_to_have_no_effect(subject):
    environment = {"OMP_NUM_THREADS": "8", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS": "1"}
    (found,) = cores.thread_variables(environment, subject(cpus_per_worker=1))
    assert found.status == "warning"
    assert "OMP_NUM_THREADS=8 would have no effect" in found.sentence
    assert "ITK" not in found.sentence


def test_the_threads_of_every_point_are_told(subject):
    plain = subject()
    first, *others = plain.entries
    wide = first.model_copy(update={"name": "wide", "threads": 4})
    several = plain.model_copy(update={"entries": (first, wide, *others)})
    (found,) = cores.thread_variables({}, several)
    assert found.sentence == "each task sets its libraries to 1 or 4 threads"
    (found,) = cores.thread_variables({"OMP_NUM_THREADS": "4"}, several)
    assert "its threads to 1 or 4 (the threads of the grid)" in found.sentence


def test_variables_that_do_reach_a_task_are_named_unless_it_runs_in_an_image(subject):
    environment = {"OMP_PROC_BIND": "close", "CUDA_VISIBLE_DEVICES": "0"}
    *_, native = cores.thread_variables(environment, subject())
    *_, image = cores.thread_variables(environment, subject(runtime="apptainer"))
    assert (native.status, image.status) == ("warning", "not applicable")
    assert native.sentence.startswith("OMP_PROC_BIND=close reaches the tasks")


def test_memory_is_compared_with_the_tightest_limit(subject):
    limits = {"free memory": 64 << 30, "the job's memory": 6 << 30}
    tight = cores.enough_memory(subject(workers=(1, 2)), limits)
    assert tight.status == "warning"
    assert "may need 8 GiB, more than the job's memory of 6.0 GiB" in tight.sentence
    assert cores.enough_memory(subject(workers=(1,)), limits).status == "ok"
