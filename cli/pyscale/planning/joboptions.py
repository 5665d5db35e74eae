"""Options of a task's Slurm job, for a site."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Request, Site
from pyscale.wording import listing
from pyscale_stages.contract import Device, Record, Stage

DEFAULT_TIME_MIN = 60
WHOLE_CORES = {"hint": "nomultithread"}
OF_THREADS = ("--hint", "--threads-per-core", "--ntasks-per-core", "--extra-node-info")
"""Options that say how many threads of a core a task gets."""


class Allocation(Record):
    """What one task of a stage asks of a site, with nothing left open."""

    request: Request = Field(description="What the site says of such a job")
    cpus: int = Field(description="Cores of a task")
    memory_mib: int = Field(description="Memory of a task")
    time_min: int = Field(description="Time limit")
    gpus: int = Field(description="GPUs of a task")

    @property
    def memory_mib_per_core(self) -> int:
        """Memory of a core that gives a task enough."""
        return math.ceil(self.memory_mib / self.cpus)


def asked_at(site: Site, stage_name: str | None, device: Device) -> Request:
    """What a site says of the jobs of a stage; of None, what it says of every stage's."""
    merged = site.request.model_dump(exclude_none=True)
    for override in site.override:
        if override.stage in {None, stage_name} and override.device in {None, device}:
            own = override.model_dump(exclude_none=True, exclude={"stage", "device", "options"})
            merged |= own | {"options": (*merged["options"], *override.options)}
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
    """Options of sbatch, by name, that ask for an allocation at a site.

    `ranks` are tasks that share the job: Slurm multiplies by them what one needs.
    """
    known = {"gpus": wanted.gpus, "memory_mib_per_core": wanted.memory_mib_per_core}
    own = {
        name: value.format(**known) if value else value
        for name, value in site_options(wanted).items()
    }
    options: dict[str, str | None] = {
        **node_options(wanted, ranks),
        "ntasks": str(ranks),
        "cpus-per-task": str(wanted.cpus),
        "time": _clock(wanted.time_min),
    }
    if site.memory and not any(name.startswith("mem") for name in own):
        options |= _memory(wanted, ranks)
    if wanted.gpus and not any(map(asks_for_gpus, own)):
        options["gpus-per-task"] = str(wanted.gpus)
    if not speaks_of_threads(wanted.request):
        # Where a core is two CPUs, N tasks of a CPU would get cores for half of them: each step has
        # whole cores, and the others would wait.
        options |= WHOLE_CORES
    return options | own


def site_options(wanted: Allocation) -> dict[str, str | None]:
    """What a site's file has of options for an allocation, by name, as it is written there."""
    return {
        name: value
        for name, value in wanted.request.by_name.items()
        # One that asks for GPUs has no meaning where none are needed.
        if wanted.gpus or "{gpus}" not in (value or "")
    }


def asks_for_gpus(name: str) -> bool:
    """Whether an option of sbatch asks for GPUs, or may."""
    return name.startswith(("gpus", "gres"))


def speaks_of_threads(request: Request) -> bool:
    """Whether a site itself says how many threads of a core a task gets."""
    return any(option.startswith(OF_THREADS) for option in request.options)


def node_options(wanted: Allocation, ranks: int) -> dict[str, str]:
    """Options that say on how many nodes ranks run, and how many on each where the site says so."""
    if (each := wanted.request.by_name.get("ntasks-per-node")) and ranks > 1:
        each_at_most = min(ranks, int(each))
        nodes = math.ceil(ranks / each_at_most)
        return {"nodes": str(nodes), "ntasks-per-node": str(each_at_most)}
    most = min(ranks, wanted.request.max_nodes or ranks)
    return {"nodes": "1" if most == 1 else f"1-{most}"}


def _memory(wanted: Allocation, ranks: int) -> dict[str, str | None]:
    if ranks == 1:
        return {"mem": f"{wanted.memory_mib}M"}
    if wanted.request.has_whole_nodes:
        # By the core it would be asked for all cores of the node, and may be more than it has.
        return {"mem": "0"}
    return {"mem-per-cpu": f"{wanted.memory_mib_per_core}M"}


def as_words(options: Mapping[str, str | None]) -> list[str]:
    """Options as sbatch takes them; None is the value of one that takes none."""
    return [
        f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()
    ]


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
        or any(map(asks_for_gpus, wanted.by_name))
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
