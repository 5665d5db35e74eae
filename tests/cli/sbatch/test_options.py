"""What a task asks of Slurm: in the dialect of the site, and enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.sbatch.options import allocation, slurm_options, warn_of_no_gpus
from pyscale.sites import Site, load_site
from pyscale_stages.contract import Device
from pyscale_stages.registry import load_stage

SEGMENT = load_stage("segment")


def options(
    site: Site, device: Device = "cpu", threads: int = 1, ranks: int = 1
) -> dict[str, str | None]:
    return slurm_options(site, allocation(site, SEGMENT, device, threads), ranks)


def site(**fields: Any) -> Site:
    return Site.model_validate({"name": "mine", "summary": "a cluster"} | fields)


def test_a_plain_site_asks_for_what_the_stage_says_of_itself() -> None:
    assert options(load_site("plain"), threads=2) == {
        "nodes": "1",
        "ntasks": "1",
        "cpus-per-task": "2",
        "mem": f"{SEGMENT.resources.memory_gib * 1024:.0f}M",
        "time": "01:00:00",
    }


def test_a_task_gets_at_least_as_many_cores_as_threads() -> None:
    cluster = site(request={"cpus": 4})
    assert options(cluster, threads=2)["cpus-per-task"] == "4"
    assert options(cluster, threads=6)["cpus-per-task"] == "6"


def test_memory_by_the_core_adds_up_to_the_memory_of_the_task() -> None:
    cluster = site(memory_option="mem-per-cpu", request={"memory_gib": 10})
    asked = options(cluster, threads=3)
    assert "mem" not in asked
    assert asked["mem-per-cpu"] == "3414M"
    assert 3 * 3414 >= 10 * 1024 > 3 * 3413


def test_a_site_that_refuses_memory_options_is_given_none() -> None:
    assert not {"mem", "mem-per-cpu"} & set(options(site(memory_option="none")))


def test_the_last_override_that_fits_decides() -> None:
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
def test_gpus_are_asked_for_as_the_site_wants_and_never_for_the_cpu(
    gpu_option: str, option: str, value: str
) -> None:
    gpu_type = "a100" if "{type}" in gpu_option else None
    cluster = site(gpu_option=gpu_option, request={"gpus": 2, "gpu_type": gpu_type})
    assert options(cluster, "cuda")[option] == value
    assert option not in options(cluster, "cpu")


def test_ranks_of_one_job_ask_for_what_each_of_them_needs() -> None:
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


def test_ranks_on_named_nodes_have_one_each_and_its_memory() -> None:
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
def test_ranks_go_to_as_few_nodes_as_the_site_lets_them(ranks: int, nodes: str, each: str) -> None:
    cluster = site(request={"memory_gib": 4, "cpus": 2, "gpus": 2, "tasks_per_node": 4})
    asked = options(cluster, "cuda", ranks=ranks)
    assert (asked["nodes"], asked["ntasks"], asked["ntasks-per-node"]) == (nodes, str(ranks), each)
    assert asked["cpus-per-task"] == "2"
    # Both are for a node, of which it is known how many ranks it has.
    assert asked["gres"] == f"gpu:{2 * int(each)}"
    assert asked["mem"] == f"{4096 * int(each)}M"
    assert not {"mem-per-cpu", "gpus-per-task"} & set(asked)


def test_one_task_and_ranks_on_named_nodes_are_spread_as_without_it() -> None:
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
def test_gpus_of_spread_ranks_are_counted_as_the_sites_option_counts(
    gpu_option: str, option: str, value: str
) -> None:
    cluster = site(gpu_option=gpu_option, request={"gpu_type": "a100", "tasks_per_node": 4})
    assert options(cluster, "cuda", ranks=8)[option] == value


@pytest.mark.parametrize(
    ("gpus", "said", "asked"), [(None, None, 1), (None, 2, 2), (3, 2, 3), ("all", 2, 2)]
)
def test_a_task_asks_for_its_own_number_of_gpus_or_what_the_site_says(
    gpus: int | Literal["all"] | None, said: int | None, asked: int
) -> None:
    cluster = site(override=[{"device": "cuda", "gpus": said}])
    assert allocation(cluster, SEGMENT, "cuda", 1, gpus).gpus == asked
    assert allocation(cluster, SEGMENT, "cpu", 1, gpus).gpus == 0


def test_all_gpus_of_a_node_are_as_many_as_the_site_says() -> None:
    with pytest.raises(UserError, match=r"mine does not set their number: add gpus, e.g."):
        allocation(site(), SEGMENT, "cuda", 1, "all")


def test_a_gpu_of_no_type_cannot_be_asked_for_by_type() -> None:
    cluster = site(gpu_option="--gres=gpu:{type}:{count}")
    with pytest.raises(UserError, match="of the site mine needs a type"):
        options(cluster, "cuda")


def test_a_type_that_would_not_be_asked_for_is_refused() -> None:
    cluster = site(request={"gpu_type": "a100"})
    with pytest.raises(UserError, match="gpu_type a100, .*: put {type} into gpu_option"):
        options(cluster, "cuda")


def test_options_of_the_site_are_added() -> None:
    asked = options(site(options=["--reservation=spring", "--spread-job"]))
    assert (asked["reservation"], asked["spread-job"]) == ("spring", None)


def test_a_time_beyond_a_day_is_written_with_days() -> None:
    assert options(site(request={"time_min": 3 * 1440 + 61}))["time"] == "3-01:01:00"


PlanMaker = Callable[..., Plan]


def test_what_computes_on_cuda_is_named_once_where_the_site_has_no_gpu_for_it(
    make: PlanMaker, sweep: PlanMaker
) -> None:
    (told,) = warn_of_no_gpus(make(device="cuda"), load_site("plain"))
    assert told.startswith(
        "segment and contact compute on cuda, but the file of the site plain asks for no GPU"
    )
    points = sweep({"device": ["cpu", "cuda"]})
    (told,) = warn_of_no_gpus(points, site(request={"gpus": 0}))
    assert told.startswith("segment computes on cuda, but the file of the site mine")
    assert list(warn_of_no_gpus(make(device="cpu"), load_site("plain"))) == []


@pytest.mark.parametrize(
    "other",
    [
        load_site("modules"),
        load_site("amd"),
        site(request={"gpus": 4}),
        # GPUs may come with the partition, without being asked for.
        site(request={"gpus": 0}, override=[{"device": "cuda", "partition": "gpu"}]),
    ],
)
def test_a_site_that_speaks_of_gpus_is_not_doubted(make: PlanMaker, other: Site) -> None:
    assert list(warn_of_no_gpus(make(device="cuda"), other)) == []
