"""Options of a task's Slurm job, in the dialect of its site."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Request, Site
from pyscale.wording import listing
from pyscale_stages.contract import Device, Record, Stage

DEFAULT_TIME_MIN = 60
WHOLE_CORES = "--hint=nomultithread"
OF_THREADS = ("--hint", "--threads-per-core", "--ntasks-per-core", "--extra-node-info")
"""Options that say how many threads of a core a task gets."""


class Allocation(Record):
    """What one task of a stage asks of a site, with nothing left open."""

    request: Request = Field(description="What the site says of such a job")
    cpus: int = Field(description="Cores of a task")
    memory_mib: int = Field(description="Memory of a task")
    time_min: int = Field(description="Time limit")
    gpus: int = Field(description="GPUs of a task")


class Spread(NamedTuple):
    """How the ranks of one job are spread over nodes."""

    nodes: int
    ranks_each: int


def ranks_over_nodes(wanted: Allocation, ranks: int) -> Spread | None:
    """How ranks are spread, where the site says how many a node takes; None leaves it to Slurm."""
    most = wanted.request.tasks_per_node
    if most is None or ranks == 1:
        return None
    return Spread(nodes=math.ceil(ranks / most), ranks_each=min(ranks, most))


def asked_at(site: Site, stage_name: str | None, device: Device) -> Request:
    """What a site says of the jobs of a stage; of None, what it says of every stage's."""
    merged = site.request.model_dump(exclude_none=True)
    for override in site.override:
        if override.stage in {None, stage_name} and override.device in {None, device}:
            merged |= override.model_dump(exclude_none=True, exclude={"stage", "device"})
    return Request(**merged)


def allocation(
    site: Site,
    stage: Stage,
    device: Device,
    threads: int,
    gpus: int | Literal["all"] | None = None,
) -> Allocation:
    """What a task asks for at a site, or as its stage says where the site says nothing.

    On cuda it gets its number of GPUs, "all" that the site says of a node, or for None what the
    site says of such a job, by default one. UserError where the site does not give the number.
    """
    request = asked_at(site, stage.name, device)
    if device != "cuda":
        gpus = 0
    elif gpus == "all" and not request.gpus:
        raise UserError(
            f"{stage.name} uses all GPUs of a node, but the site {site.name} does not set "
            'their number: add gpus, e.g. gpus = 4, to the [[override]] of device = "cuda" '
            "in its file"
        )
    elif gpus is None or gpus == "all":
        gpus = 1 if request.gpus is None else request.gpus
    memory_gib = request.memory_gib or stage.resources.memory_gib
    return Allocation(
        request=request,
        cpus=max(request.cpus or 1, threads),
        memory_mib=math.ceil(memory_gib * 1024),
        time_min=request.time_min or DEFAULT_TIME_MIN,
        gpus=gpus,
    )


def slurm_options(site: Site, wanted: Allocation, ranks: int = 1) -> dict[str, str | None]:
    """Options of sbatch, by name, that ask for an allocation in the dialect of a site.

    `ranks` are tasks that share the job. Unless the site says how many a node takes, they ask for
    memory and GPUs by the task. A UserError says that the site's way to ask for GPUs needs a type
    that it lacks, or the reverse.
    """
    request = wanted.request
    spread = ranks_over_nodes(wanted, ranks)
    options: dict[str, str | None] = {
        "partition": request.partition,
        "account": request.account,
        "qos": request.qos,
        "constraint": request.constraint,
        **node_options(wanted, ranks),
        "ntasks": str(ranks),
        "cpus-per-task": str(wanted.cpus),
    }
    options = {name: value for name, value in options.items() if value is not None}
    on_each = spread.ranks_each if spread else 1
    if site.memory_option == "mem" and (ranks == 1 or spread):
        options["mem"] = f"{on_each * wanted.memory_mib}M"
    elif site.memory_option == "mem" and request.exclusive:
        # By the core it would be asked for all cores of the node, and may be more than it has.
        options["mem"] = "0"
    elif site.memory_option != "none":
        options["mem-per-cpu"] = f"{math.ceil(wanted.memory_mib / wanted.cpus)}M"
    options["time"] = _clock(wanted.time_min)
    if request.exclusive:
        options["exclusive"] = None
    if wanted.gpus:
        options |= _option(_gpu_option(site, wanted, ranks, spread))
    if own_word_on_threads(site) is None:
        # Where a core is two CPUs, N tasks of a CPU would get cores for half of them: each step has
        # whole cores, and the others would wait.
        options |= _option(WHOLE_CORES)
    for option in site.options:
        options |= _option(option)
    return options


def own_word_on_threads(site: Site) -> str | None:
    """The option by which a site itself says how many threads of a core a task gets."""
    return next((option for option in site.options if option.startswith(OF_THREADS)), None)


def node_options(wanted: Allocation, ranks: int) -> dict[str, str]:
    """Options that say on how many nodes ranks run, and how many on each."""
    if spread := ranks_over_nodes(wanted, ranks):
        return {"nodes": str(spread.nodes), "ntasks-per-node": str(spread.ranks_each)}
    return {"nodes": "1" if ranks == 1 else f"1-{ranks}"}


def as_words(options: Mapping[str, str | None]) -> list[str]:
    """Options as sbatch takes them; None is the value of one that takes none."""
    return [
        f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()
    ]


def _gpu_option(site: Site, wanted: Allocation, ranks: int, spread: Spread | None) -> str:
    gpu_type = wanted.request.gpu_type
    if "{type}" not in site.gpu_option and gpu_type is not None:
        raise UserError(
            f"the site {site.name} has a gpu_type {gpu_type}, but its gpu_option "
            f"{site.gpu_option} has no place for it: put {{type}} into gpu_option, or leave "
            "gpu_type out"
        )
    if "{type}" in site.gpu_option and gpu_type is None:
        raise UserError(
            f"the gpu_option {site.gpu_option} of the site {site.name} needs a type: add "
            "gpu_type to its request, or to its override for the device"
        )
    if spread is not None:
        # Most options count by the node, as --gres does.
        counted = {"gpus-per-task": 1, "gpus": ranks}
        (name,) = _option(site.gpu_option)
        tasks = counted.get(name, spread.ranks_each)
        return site.gpu_option.format(count=tasks * wanted.gpus, type=gpu_type)
    if ranks > 1:
        typed = "" if gpu_type is None else f"{gpu_type}:"
        return f"--gpus-per-task={typed}{wanted.gpus}"
    return site.gpu_option.format(count=wanted.gpus, type=gpu_type)


def _option(text: str) -> dict[str, str | None]:
    name, equals, value = text.removeprefix("--").partition("=")
    return {name: value if equals else None}


def _clock(minutes: int) -> str:
    """Write a time limit as Slurm does: days-hours:minutes:seconds."""
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02}:{rest % 60:02}:00"
    return f"{days}-{clock}" if days else clock


def speaks_of_gpus(site: Site, stage_name: str) -> bool:
    """Whether a site's file has GPUs for jobs of a stage, or says what else those on cuda ask."""
    wanted = asked_at(site, stage_name, "cuda")
    return (
        bool(wanted.gpus)
        or wanted.gpu_type is not None
        or any(override.device == "cuda" for override in site.override)
    )


def warn_of_no_gpus(plan: Plan, site: Site) -> Iterator[str]:
    """Name what is to compute on cuda at a site whose file has no GPU for it."""
    on_cuda = [trial for trial in plan.trials if trial.device == "cuda"]
    entries = dict.fromkeys(
        plan.suite.stages[trial.entry].family or trial.entry
        for trial in on_cuda
        if not speaks_of_gpus(site, trial.stage)
    )
    if entries:
        yield (
            f"{listing(entries)} {'computes' if len(entries) == 1 else 'compute'} on cuda, but the "
            f"file of the site {site.name} asks for no GPU, so jobs may find none: add an "
            '[[override]] of device = "cuda" with the partition that has GPUs, or use --device cpu'
        )
