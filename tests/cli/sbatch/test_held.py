"""The one job that all trials of a plan fit into: its size, its time, and when there is none."""

import pytest

from pyscale.sbatch.held import PILOT_MIB, PILOT_SHARE_MIB, held_by, times_min, why_not_held
from pyscale.sites import Site


def site(override=(), **request):
    given = {"name": "mine", "summary": "a cluster", "request": request, "override": override}
    return Site.model_validate(given)


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
    held = held_by(make(only=("contact",), workers=workers), site(**request_))
    assert (held.cores, held.nodes_option) == (cores, nodes)


def test_several_small_tasks_share_the_cores_of_a_large_one(make):
    plan = make(only=("contact",), workers=(1, 4))
    trials = tuple(
        trial.model_copy(update={"threads": 4 if trial.workers == 1 else 1})
        for trial in plan.trials
    )
    held = held_by(plan.model_copy(update={"trials": trials}), site(memory_gib=1))
    # Four tasks of a core have the cores of one of four, and the memory of one alone.
    assert (held.slot.cpus, held.slots) == (4, 4)


@pytest.mark.parametrize(("workers", "more"), [((1,), PILOT_MIB), ((2,), PILOT_SHARE_MIB)])
def test_the_pilot_has_memory_beside_the_tasks(make, workers, more):
    held = held_by(make(only=("contact",), workers=workers), site(memory_gib=2))
    assert held.slot.memory_mib == 2048 + more


def test_a_plan_of_two_partitions_is_not_held(make):
    two = site(({"stage": "track", "partition": "gpu"},), partition="cpu")
    why = why_not_held(make(), two)
    assert why == "its trials need more than one partition (cpu and gpu)"


def test_a_plan_for_more_nodes_than_the_site_allows_is_not_held(make):
    why = why_not_held(make(workers=(4,)), site(tasks_per_node=1, max_nodes=2))
    assert why == "it needs 4 nodes, and max_nodes of the site mine is 2"


@pytest.mark.parametrize(
    ("known", "limit", "minutes"),
    [
        ({}, 720, (720,)),
        ({"a": 60.0}, 720, (720,)),
        ({"a": 60.0, "b": 60.0}, 720, (15,)),
        ({"a": 3600.0, "b": 3600.0}, 720, (180,)),
        ({"a": 3600.0, "b": 3600.0}, 100, (100, 80)),
        ({"a": 3600.0, "b": 3600.0}, 90, (90, 90)),
        ({"a": 3600.0, "b": 3600.0}, 175, (175, 15)),
    ],
    ids=["unknown", "partly", "short", "known", "cut in two", "cut evenly", "a short rest"],
)
def test_time_is_asked_for_by_earlier_runs(known, limit, minutes):
    assert times_min(["a", "b"], known, limit) == minutes
