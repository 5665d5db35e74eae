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
    asked = options(having(own))
    assert own in as_words(asked)
    assert "hint" not in asked or own == "--hint=multithread"


def having(*options, **request):
    return site(request=request | {"options": options})


TYPED = having("--gpus-per-task=a100:{gpus}", gpus=2)
TWO_GPUS = having(memory_gib=4, cpus=2, gpus=2)
FOUR_A_NODE = having("--ntasks-per-node=4", memory_gib=4, cpus=2, gpus=2)
BY_THE_CORE = having("--mem-per-cpu={memory_mib_per_core}M", memory_gib=10)
ON_GPUS = {"device": "cuda"}
ASKED = {
    "more cores": (having(cpus=4), {"threads": 2}, "cpus-per-task=4", ""),
    "more threads": (having(cpus=4), {"threads": 6}, "cpus-per-task=6", ""),
    # By the core: 3 x 3414 MiB are at least 10 GiB, and 3 x 3413 are not.
    "memory by core": (BY_THE_CORE, {"threads": 3}, "mem-per-cpu=3414M", "mem"),
    "no memory": (site(memory=False), {}, "", "mem mem-per-cpu"),
    "memory of its own": (having("--mem=0"), {"ranks": 2}, "mem=0", "mem-per-cpu"),
    "options": (having("--reservation=spring", "--spread-job"), {}, "reservation=spring", ""),
    "an option without value": (having("--spread-job"), {}, "spread-job", ""),
    "days": (having(time_min=3 * 1440 + 61), {}, "time=3-01:01:00", ""),
    "GPUs": (TWO_GPUS, ON_GPUS, "gpus-per-task=2", ""),
    "GPUs of a type": (TYPED, ON_GPUS, "gpus-per-task=a100:2", ""),
    "GPUs of a node": (having("--gres=gpu:4", gpus=1), ON_GPUS, "gres=gpu:4", "gpus-per-task"),
    "no GPUs for the CPU": (TYPED, {}, "", "gpus-per-task"),
    # Memory and GPUs by node would be for a node, however many ranks it has.
    "ranks of one job": (
        *(TWO_GPUS, ON_GPUS | {"ranks": 4}),
        "nodes=1-4 ntasks=4 cpus-per-task=2 mem-per-cpu=2048M gpus-per-task=2",
        "mem gres ntasks-per-node",
    ),
    "whole nodes": (having("--exclusive"), {"ranks": 4}, "mem=0 exclusive", "mem-per-cpu"),
    "ranks, no memory": (site(memory=False), {"ranks": 2}, "", "mem mem-per-cpu"),
    "four ranks a node": (
        *(FOUR_A_NODE, ON_GPUS | {"ranks": 16}),
        "nodes=4 ntasks=16 ntasks-per-node=4 mem-per-cpu=2048M gpus-per-task=2",
        "mem gres",
    ),
    "as few nodes as they need": (FOUR_A_NODE, {"ranks": 6}, "nodes=2", ""),
    "at most two nodes": (having(max_nodes=2), {"ranks": 6}, "nodes=1-2", ""),
}
"""A site, what a task is, what it asks for then, and what it does not."""


@pytest.mark.parametrize(("place", "task", "asked", "absent"), ASKED.values(), ids=ASKED)
def test_a_task_asks_in_the_words_of_its_site(place, task, asked, absent):
    found = options(place, **task)
    wanted = dict(part.partition("=")[::2] for part in asked.split())
    assert {name: found[name] or "" for name in wanted} == wanted
    assert not {*absent.split()} & set(found)


def test_the_last_override_that_fits_decides():
    cluster = site(
        request={"options": ["--partition=cpu", "--qos=day"], "time_min": 30},
        override=[
            {"device": "cuda", "options": ["--partition=gpu"], "time_min": 90},
            {"stage": "segment", "device": "cuda", "options": ["--partition=big"]},
            {"stage": "contact", "options": ["--partition=never"]},
        ],
    )
    on_cpu, on_gpu = options(cluster), options(cluster, "cuda")
    assert (on_cpu["partition"], on_cpu["time"]) == ("cpu", "00:30:00")
    assert (on_gpu["partition"], on_gpu["time"]) == ("big", "01:30:00")
    # What an override does not name stays.
    assert on_gpu["qos"] == "day"


@pytest.mark.parametrize(
    ("gpus", "said", "asked"), [(None, None, 1), (None, 2, 2), (3, 2, 3), ("all", 2, 2)]
)
def test_a_task_asks_for_its_own_number_of_gpus_or_what_the_site_says(gpus, said, asked):
    cluster = site(override=[{"device": "cuda", "gpus": said}])
    assert allocation(cluster, SEGMENT, "cuda", 1, gpus).gpus == asked
    assert allocation(cluster, SEGMENT, "cpu", 1, gpus).gpus == 0


def test_all_gpus_of_a_node_cannot_be_asked_for_where_the_site_does_not_tell_their_number():
    with refused(UserError):
        allocation(site(), SEGMENT, "cuda", 1, "all")


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
        site(request={"gpus": 0}, override=[{"device": "cuda"}]),
    ):
        assert list(warn_of_no_gpus(make(device="cuda"), speaks_of_gpus)) == []
