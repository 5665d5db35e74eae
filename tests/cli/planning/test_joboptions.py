"""What a task asks of Slurm: in the dialect of the site, and enough."""

import pytest

from mockruns import site
from pyscale.errors import UserError
from pyscale.planning.joboptions import allocation, as_words, slurm_options, warn_of_no_gpus
from pyscale.planning.sites import load_site
from pyscale_stages.registry import load_stage
from refusals import refused

SEGMENT = load_stage("segment")


def options(site, device="cpu", threads=1, ranks=1):
    return slurm_options(site, allocation(site, SEGMENT, device, threads), ranks)


def test_a_plain_site_asks_for_what_the_stage_says_of_itself():
    assert options(load_site("plain"), threads=2) == {
        "nodes": "1",
        "ntasks": "1",
        "cpus-per-task": "2",
        "mem": f"{SEGMENT.resources.memory_gib * 1024:.0f}M",
        "time": "01:00:00",
        # Whole cores, which are several CPUs to Slurm where they have several threads.
        "hint": "nomultithread",
    }


@pytest.mark.parametrize("own", ["--hint=multithread", "--threads-per-core=2"])
def test_what_a_site_says_of_the_threads_of_a_core_is_left_to_it(own):
    asked = options(site(options=[own]))
    assert own in as_words(asked)
    assert "hint" not in asked or own == "--hint=multithread"


BY_TYPE = "--gres=gpu:{type}:{count}"
BY_TASK = {"gpu_option": "--gpus-per-task={count}", "request": {"gpus": 2}}
TYPED = {"gpu_option": BY_TYPE, "request": {"gpus": 2, "gpu_type": "a100"}}
TWO_GPUS = {"request": {"memory_gib": 4, "cpus": 2, "gpus": 2}}
FOUR_A_NODE = {"request": {"memory_gib": 4, "tasks_per_node": 4}}
BY_THE_CORE = {"memory_option": "mem-per-cpu", "request": {"memory_gib": 10}}
ON_GPUS = {"device": "cuda"}
OPTIONS = {"options": ["--reservation=spring", "--spread-job"]}


def spread_by(gpu_option):
    """A site that spreads ranks and counts GPUs in its own way."""
    return {"gpu_option": gpu_option, "request": {"gpu_type": "a100", "tasks_per_node": 4}}


ASKED = {
    "more cores": ({"request": {"cpus": 4}}, {"threads": 2}, "cpus-per-task=4", ""),
    "more threads": ({"request": {"cpus": 4}}, {"threads": 6}, "cpus-per-task=6", ""),
    # By the core: 3 x 3414 MiB are at least 10 GiB, and 3 x 3413 are not.
    "memory by core": (BY_THE_CORE, {"threads": 3}, "mem-per-cpu=3414M", "mem"),
    "no memory": ({"memory_option": "none"}, {}, "", "mem mem-per-cpu"),
    "options": (OPTIONS, {}, "reservation=spring spread-job", ""),
    "days": ({"request": {"time_min": 3 * 1440 + 61}}, {}, "time=3-01:01:00", ""),
    "GPUs of a type": (TYPED, ON_GPUS, "gres=gpu:a100:2", ""),
    "GPUs by task": (BY_TASK, ON_GPUS, "gpus-per-task=2", ""),
    "no GPUs of a type for the CPU": (TYPED, {}, "", "gres"),
    "no GPUs by task for the CPU": (BY_TASK, {}, "", "gpus-per-task"),
    # Memory and GPUs by node would be for a node, however many ranks it has.
    "ranks of one job": (
        *(TWO_GPUS, ON_GPUS | {"ranks": 4}),
        "nodes=1-4 ntasks=4 cpus-per-task=2 mem-per-cpu=2048M gpus-per-task=2",
        "mem gres",
    ),
    "whole nodes": ({"request": {"exclusive": True}}, {"ranks": 4}, "mem=0", "mem-per-cpu"),
    "ranks on GPUs of a type": (
        *({"gpu_option": BY_TYPE, "request": {"gpu_type": "a100"}}, ON_GPUS | {"ranks": 2}),
        *("gpus-per-task=a100:1", ""),
    ),
    "ranks, no memory": ({"memory_option": "none"}, {"ranks": 2}, "", "mem mem-per-cpu"),
    "ranks on any nodes": (TWO_GPUS, {"ranks": 3}, "", "ntasks-per-node"),
    "one task is not spread": (FOUR_A_NODE, ON_GPUS, "", "ntasks-per-node"),
    # GPUs of spread ranks are counted as the site's option counts.
    "GPUs of 4 ranks": (spread_by(BY_TYPE), ON_GPUS | {"ranks": 8}, "gres=gpu:a100:4", ""),
    **{
        f"GPUs by {option}": (
            *(spread_by(f"--{option}={{type}}:{{count}}"), ON_GPUS | {"ranks": 8}),
            *(f"{option}=a100:{count}", ""),
        )
        for option, count in (("gpus-per-node", 4), ("gpus-per-task", 1), ("gpus", 8))
    },
}
"""Fields of a site, what a task is, what it asks for then, and what it does not."""


@pytest.mark.parametrize(("fields", "task", "asked", "absent"), ASKED.values(), ids=ASKED)
def test_a_task_asks_in_the_dialect_of_its_site(fields, task, asked, absent):
    found = options(site(**fields), **task)
    wanted = dict(part.partition("=")[::2] for part in asked.split())
    assert {name: found[name] or "" for name in wanted} == wanted
    assert not {*absent.split()} & set(found)


def test_the_last_override_that_fits_decides():
    cluster = site(
        request={"partition": "cpu", "exclusive": True, "time_min": 30},
        override=[
            {"device": "cuda", "partition": "gpu", "time_min": 90},
            {"stage": "segment", "device": "cuda", "partition": "big", "exclusive": False},
            {"stage": "contact", "partition": "never"},
        ],
    )
    on_cpu, on_gpu = options(cluster), options(cluster, "cuda")
    assert (on_cpu["partition"], on_cpu["time"]) == ("cpu", "00:30:00")
    assert (on_gpu["partition"], on_gpu["time"]) == ("big", "01:30:00")
    assert "exclusive" in on_cpu
    assert "exclusive" not in on_gpu


@pytest.mark.parametrize(
    ("ranks", "nodes", "each"), [(2, "1", "2"), (4, "1", "4"), (6, "2", "4"), (16, "4", "4")]
)
def test_ranks_go_to_as_few_nodes_as_the_site_lets_them(ranks, nodes, each):
    cluster = site(request={"memory_gib": 4, "cpus": 2, "gpus": 2, "tasks_per_node": 4})
    asked = options(cluster, "cuda", ranks=ranks)
    assert (asked["nodes"], asked["ntasks"], asked["ntasks-per-node"]) == (nodes, str(ranks), each)
    assert asked["cpus-per-task"] == "2"
    # Both are for a node, of which it is known how many ranks it has.
    assert asked["gres"] == f"gpu:{2 * int(each)}"
    assert asked["mem"] == f"{4096 * int(each)}M"
    assert not {"mem-per-cpu", "gpus-per-task"} & set(asked)


@pytest.mark.parametrize(
    ("gpus", "said", "asked"), [(None, None, 1), (None, 2, 2), (3, 2, 3), ("all", 2, 2)]
)
def test_a_task_asks_for_its_own_number_of_gpus_or_what_the_site_says(gpus, said, asked):
    cluster = site(override=[{"device": "cuda", "gpus": said}])
    assert allocation(cluster, SEGMENT, "cuda", 1, gpus).gpus == asked
    assert allocation(cluster, SEGMENT, "cpu", 1, gpus).gpus == 0


@pytest.mark.parametrize(
    ("fields", "gpus"),
    [
        ({}, "all"),
        ({"gpu_option": "--gres=gpu:{type}:{count}"}, 1),
        ({"request": {"gpu_type": "a100"}}, 1),
    ],
    ids=str,
)
def test_gpus_that_cannot_be_asked_for_are_refused(fields, gpus):
    cluster = site(**fields)
    with refused(UserError):
        slurm_options(cluster, allocation(cluster, SEGMENT, "cuda", 1, gpus), 1)


def test_what_computes_on_cuda_is_named_once_where_the_site_has_no_gpu_for_it(make, sweep):
    (told,) = warn_of_no_gpus(make(device="cuda"), load_site("plain"))
    assert told.startswith(
        "segment and contact compute on cuda, but the file of the site plain asks for no GPU"
    )
    points = sweep({"device": ["cpu", "cuda"]})
    (told,) = warn_of_no_gpus(points, site(request={"gpus": 0}))
    assert told.startswith("segment computes on cuda, but the file of the site mine")
    assert list(warn_of_no_gpus(make(device="cpu"), load_site("plain"))) == []
    for speaks_of_gpus in (
        load_site("modules"),
        load_site("amd"),
        site(request={"gpus": 4}),
        # GPUs may come with the partition, without being asked for.
        site(request={"gpus": 0}, override=[{"device": "cuda", "partition": "gpu"}]),
    ):
        assert list(warn_of_no_gpus(make(device="cuda"), speaks_of_gpus)) == []
