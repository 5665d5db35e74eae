"""The one job that all trials of a plan fit into: its size, its time, and when there is none."""

import pytest

from mockruns import site
from pyscale.errors import UserError
from pyscale.measuring.benchmark import with_allocation
from pyscale.sbatch.held import PILOT_MIB, PILOT_SHARE_MIB, held_by, times_min, why_not_held
from refusals import refused


@pytest.mark.parametrize(
    ("workers", "request_", "cores", "nodes"),
    [
        ((1,), {}, 1, "1"),
        ((1, 2, 4), {}, 4, "1-4"),
        ((1, 2, 4), {"cpus": 3}, 12, "1-4"),
        ((1, 2, 4), {"max_nodes": 2}, 4, "1-2"),
        ((1, 2, 4), {"tasks_per_node": 2}, 4, "2"),
    ],
)
def test_the_job_is_as_large_as_the_largest_trial(make, workers, request_, cores, nodes):
    held = held_by(make(only=("contact",), workers=workers), site(request=request_))
    assert (held.cores, held.nodes_option) == (cores, nodes)


def test_several_small_tasks_share_the_cores_of_a_large_one(make):
    plan = make(only=("contact",), workers=(1, 4))
    trials = tuple(
        trial.model_copy(update={"threads": 4 if trial.workers == 1 else 1})
        for trial in plan.trials
    )
    held = held_by(plan.model_copy(update={"trials": trials}), site(request={"memory_gib": 1}))
    # Four tasks of a core have the cores of one of four, and the memory of one alone.
    assert (held.slot.cpus, held.slots) == (4, 4)


@pytest.mark.parametrize(("workers", "more"), [((1,), PILOT_MIB), ((2,), PILOT_SHARE_MIB)])
def test_the_pilot_has_memory_beside_the_tasks(make, workers, more):
    held = held_by(make(only=("contact",), workers=workers), site(request={"memory_gib": 2}))
    assert held.slot.memory_mib == 2048 + more


TWO_PARTITIONS = site(
    request={"partition": "cpu"}, override=[{"stage": "track", "partition": "gpu"}]
)
TWO_NODES = site(request={"tasks_per_node": 1, "max_nodes": 2})


@pytest.mark.parametrize(
    ("place", "workers", "why"),
    [
        (TWO_PARTITIONS, (1, 2), "its trials need more than one partition (cpu and gpu)"),
        (TWO_NODES, (4,), "it needs 4 nodes, and max_nodes of the site mine is 2"),
    ],
)
def test_a_plan_that_no_job_can_hold_says_why(make, place, workers, why):
    assert why_not_held(make(workers=workers), place) == why


def test_trials_of_two_partitions_have_jobs_of_their_own(make):
    assert with_allocation(make(), TWO_PARTITIONS).settings["allocation"] == "each"


def test_one_allocation_is_refused_where_there_can_be_none(make):
    with refused(UserError):
        with_allocation(make(allocation="hold"), TWO_PARTITIONS)


@pytest.mark.parametrize(
    ("known", "limit", "minutes"),
    [
        ({"a": 60.0, "b": 60.0}, 720, (15,)),
        ({"a": 3600.0, "b": 3600.0}, 720, (180,)),
        ({"a": 3600.0, "b": 3600.0}, 100, (100, 80)),
        ({"a": 3600.0, "b": 3600.0}, 90, (90, 90)),
        ({"a": 3600.0, "b": 3600.0}, 175, (175, 15)),
    ],
    ids=["short", "known", "cut in two", "cut evenly", "a short rest"],
)
def test_time_is_asked_for_by_earlier_runs(known, limit, minutes):
    assert times_min(["a", "b"], known, limit) == minutes
