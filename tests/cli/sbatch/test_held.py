"""The one job that all trials of a plan fit into: its size, its time, and when there is none."""

from itertools import pairwise

import pytest

from mockruns import site
from pyscale.errors import UserError
from pyscale.sbatch.held import (
    PILOT_MIB,
    PILOT_SHARE_MIB,
    held_trials,
    refuse_too_many_nodes,
)
from refusals import refused


def one_job(plan, place):
    """The job of a plan whose stages are of one kind."""
    (one,) = held_trials(plan, place)
    return one


@pytest.mark.parametrize(
    ("workers", "request_", "cores", "nodes"),
    [
        ((1,), {}, 1, "1"),
        ((1, 2, 4), {}, 4, "1-4"),
        ((1, 2, 4), {"cpus": 3}, 12, "1-4"),
        ((1, 2, 4), {"max_nodes": 2}, 4, "1-2"),
        ((1, 2, 4), {"options": ["--ntasks-per-node=2"]}, 4, "2"),
    ],
)
def test_the_job_is_as_large_as_the_largest_trial(make, workers, request_, cores, nodes):
    held = one_job(make(only=("contact",), workers=workers), site(request=request_))
    assert (held.cores, held.nodes_option) == (cores, nodes)


def test_a_site_may_have_a_job_for_each_n_which_leaves_nothing_idle(make):
    plan = make(only=("contact",), workers=(1, 4))
    found = held_trials(plan, site(jobs="each-n"))
    assert [(one.workers, one.cores) for one in found] == [(1, 1), (4, 4)]
    assert {trial.workers for trial in found[1].trials} == {4}
    assert sum(len(one.trials) for one in found) == len(plan.trials)


def test_several_small_tasks_share_the_cores_of_a_large_one(make):
    plan = make(only=("contact",), workers=(1, 4))
    trials = tuple(
        trial.model_copy(update={"threads": 4 if trial.workers == 1 else 1})
        for trial in plan.trials
    )
    held = one_job(plan.model_copy(update={"trials": trials}), site(request={"memory_gib": 1}))
    # Four tasks of a core have the cores of one of four, and the memory of one alone.
    assert (held.slot.cpus, held.slots) == (4, 4)


@pytest.mark.parametrize(("workers", "more"), [((1,), PILOT_MIB), ((2,), PILOT_SHARE_MIB)])
def test_the_pilot_has_memory_beside_the_tasks(make, workers, more):
    held = one_job(make(only=("contact",), workers=workers), site(request={"memory_gib": 2}))
    assert held.slot.memory_mib == 2048 + more


TWO_PARTITIONS = site(
    request={"options": ["--partition=cpu"]},
    override=[{"stage": "segment", "options": ["--partition=gpu"]}],
)
GPUS = site(override=[{"device": "cuda", "options": ["--gpus-per-task=a100:{gpus}"]}])
TWO_NODES = site(request={"options": ["--ntasks-per-node=1"], "max_nodes": 2})


def stages_of(jobs):
    return [list(dict.fromkeys(trial.entry for trial in one.trials)) for one in jobs]


@pytest.mark.parametrize(("place", "device"), [(TWO_PARTITIONS, "cpu"), (GPUS, "cuda")])
def test_stages_of_one_kind_that_follow_each_other_share_a_job(make, place, device):
    jobs = held_trials(make(device=device), place)
    stages = stages_of(jobs)
    assert stages[0] == ["register_denoise"]
    assert ["contact" in own for own in stages].index(True) > 0
    # Each trial runs in one job alone, and a job waits for nothing that comes after it.
    assert sorted(t.id for one in jobs for t in one.trials) == sorted(
        t.id for t in make(device=device).trials
    )
    asked = [one.slot.request.by_name.get("partition") for one in jobs]
    assert all(first != second for first, second in pairwise(asked)) or place is GPUS


def test_stages_that_wait_for_none_of_another_kind_share_the_first_job_of_theirs(make):
    place = site(override=[{"stage": "track", "options": ["--partition=long"]}])
    assert stages_of(held_trials(make(), place)) == [
        ["register_denoise", "segment", "contact"],
        ["track"],
    ]


def test_a_plan_that_needs_more_nodes_than_the_site_allows_is_refused(make):
    refuse_too_many_nodes(make(workers=(2,)), TWO_NODES)
    with refused(UserError):
        refuse_too_many_nodes(make(workers=(4,)), TWO_NODES)
