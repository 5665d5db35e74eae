import os

import pytest

from pyscale_stages.measure import cgroups, cpus


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def eight_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))


def grant(monkeypatch, quota):
    limits = cgroups.Limits(version="2", memory_bytes=None, cpus=quota)
    monkeypatch.setattr(cgroups, "limits", lambda: limits)


def test_the_real_affinity_mask_is_obeyed():
    before = os.sched_getaffinity(0)
    last = max(before)
    os.sched_setaffinity(0, {last})
    try:
        assert cpus.usable_cpus() == [last]
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("eight_cpus")
@pytest.mark.parametrize(("quota", "count"), [(None, 8), (3.0, 3), (2.7, 2), (0.5, 1), (99.0, 8)])
def test_a_quota_bounds_the_count(quota, count, monkeypatch):
    grant(monkeypatch, quota)
    assert len(cpus.usable_cpus()) == count


@pytest.mark.usefixtures("eight_cpus")
def test_a_slurm_task_gets_what_slurm_gave_it(monkeypatch):
    grant(monkeypatch, None)
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "6")
    assert len(cpus.usable_cpus()) == 6
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    assert len(cpus.usable_cpus()) == 2


def test_each_core_is_filled_once_before_any_is_used_twice(tmp_path):
    # Four cores of two threads, numbered as most Intel nodes number them.
    for cpu in range(8):
        topology = tmp_path / f"cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    assert cpus.one_thread_per_core_first([0, 1, 4, 5, 6], tmp_path) == [0, 1, 6, 4, 5]
    assert cpus.first_threads([0, 1, 4, 5, 6], tmp_path) == [0, 1, 6]
