"""What a task asks of Slurm: in the dialect of the site, and enough."""

import pytest

from mockruns import site
from pyscale.errors import UserError
from pyscale.sbatch.options import allocation, slurm_options, warn_of_no_gpus
from pyscale.sites import load_site
from pyscale_stages.registry import load_stage

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
    }


@pytest.mark.parametrize(
    ("fields", "threads", "asked", "absent"),
    [
        ({"request": {"cpus": 4}}, 2, {"cpus-per-task": "4"}, set()),
        ({"request": {"cpus": 4}}, 6, {"cpus-per-task": "6"}, set()),
        # By the core: 3 x 3414 MiB are at least 10 GiB, and 3 x 3413 are not.
        (
            {"memory_option": "mem-per-cpu", "request": {"memory_gib": 10}},
            3,
            {"mem-per-cpu": "3414M"},
            {"mem"},
        ),
        ({"memory_option": "none"}, 1, {}, {"mem", "mem-per-cpu"}),
        (
            {"options": ["--reservation=spring", "--spread-job"]},
            1,
            {"reservation": "spring", "spread-job": None},
            set(),
        ),
        ({"request": {"time_min": 3 * 1440 + 61}}, 1, {"time": "3-01:01:00"}, set()),
    ],
    ids=["more cores", "more threads", "memory by core", "no memory", "options", "days"],
)
def test_a_task_asks_in_the_dialect_of_its_site(fields, threads, asked, absent):
    found = options(site(**fields), threads=threads)
    assert {name: found[name] for name in asked} == asked
    assert not absent & set(found)


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
    ("gpu_option", "option", "value"),
    [
        ("--gres=gpu:{type}:{count}", "gres", "gpu:a100:2"),
        ("--gpus-per-task={count}", "gpus-per-task", "2"),
    ],
)
def test_gpus_are_asked_for_as_the_site_wants_and_never_for_the_cpu(gpu_option, option, value):
    gpu_type = "a100" if "{type}" in gpu_option else None
    cluster = site(gpu_option=gpu_option, request={"gpus": 2, "gpu_type": gpu_type})
    assert options(cluster, "cuda")[option] == value
    assert option not in options(cluster, "cpu")


def test_ranks_of_one_job_ask_for_what_each_of_them_needs():
    cluster = site(request={"memory_gib": 4, "cpus": 2, "gpus": 2})
    asked = options(cluster, "cuda", ranks=4)
    assert (asked["nodes"], asked["ntasks"], asked["cpus-per-task"]) == ("1-4", "4", "2")
    assert asked["mem-per-cpu"] == "2048M"
    assert asked["gpus-per-task"] == "2"
    # These would be for a node, however many ranks it has.
    assert not {"mem", "gres"} & set(asked)
    alone = options(site(request={"exclusive": True}), ranks=4)
    assert (alone["mem"], "mem-per-cpu" in alone) == ("0", False)
    typed = site(gpu_option="--gres=gpu:{type}:{count}", request={"gpu_type": "a100"})
    assert options(typed, "cuda", ranks=2)["gpus-per-task"] == "a100:1"
    assert not {"mem", "mem-per-cpu"} & set(options(site(memory_option="none"), ranks=2))


def test_ranks_on_named_nodes_have_one_each_and_its_memory():
    cluster = site(request={"memory_gib": 4, "cpus": 2, "gpus": 2})
    wanted = allocation(cluster, SEGMENT, "cuda", 1)
    asked = slurm_options(cluster, wanted, 3, ("n1", "n2", "n10"))
    assert (asked["nodes"], asked["ntasks"], asked["ntasks-per-node"]) == ("3", "3", "1")
    assert asked["nodelist"] == "n1,n2,n10"
    assert (asked["mem"], asked["gpus-per-task"]) == ("4096M", "2")
    alone = slurm_options(cluster, wanted, 1, ("n7",))
    assert (alone["nodes"], alone["nodelist"], alone["gres"]) == ("1", "n7", "gpu:2")
    assert not {"nodelist", "ntasks-per-node"} & set(options(cluster, ranks=3))


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


def test_one_task_and_ranks_on_named_nodes_are_spread_as_without_it():
    cluster = site(request={"memory_gib": 4, "tasks_per_node": 4})
    assert "ntasks-per-node" not in options(cluster, "cuda")
    named = slurm_options(cluster, allocation(cluster, SEGMENT, "cuda", 1), 2, ("n1", "n2"))
    assert (named["nodes"], named["ntasks-per-node"], named["mem"]) == ("2", "1", "4096M")


@pytest.mark.parametrize(
    ("gpu_option", "option", "value"),
    [
        ("--gres=gpu:{type}:{count}", "gres", "gpu:a100:4"),
        ("--gpus-per-node={type}:{count}", "gpus-per-node", "a100:4"),
        ("--gpus-per-task={type}:{count}", "gpus-per-task", "a100:1"),
        ("--gpus={type}:{count}", "gpus", "a100:8"),
    ],
)
def test_gpus_of_spread_ranks_are_counted_as_the_sites_option_counts(gpu_option, option, value):
    cluster = site(gpu_option=gpu_option, request={"gpu_type": "a100", "tasks_per_node": 4})
    assert options(cluster, "cuda", ranks=8)[option] == value


@pytest.mark.parametrize(
    ("gpus", "said", "asked"), [(None, None, 1), (None, 2, 2), (3, 2, 3), ("all", 2, 2)]
)
def test_a_task_asks_for_its_own_number_of_gpus_or_what_the_site_says(gpus, said, asked):
    cluster = site(override=[{"device": "cuda", "gpus": said}])
    assert allocation(cluster, SEGMENT, "cuda", 1, gpus).gpus == asked
    assert allocation(cluster, SEGMENT, "cpu", 1, gpus).gpus == 0


@pytest.mark.parametrize(
    ("fields", "gpus", "said"),
    [
        ({}, "all", r"mine does not set their number: add gpus, e.g."),
        ({"gpu_option": "--gres=gpu:{type}:{count}"}, 1, "of the site mine needs a type"),
        (
            {"request": {"gpu_type": "a100"}},
            1,
            "gpu_type a100, .*: put {type} into gpu_option",
        ),
    ],
)
def test_gpus_that_cannot_be_asked_for_are_refused(fields, gpus, said):
    cluster = site(**fields)
    with pytest.raises(UserError, match=said):
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
