"""Requests to paste, in the words of sbatch, Nextflow or Snakemake, and of a site."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from pyscale.analysis.resource_request import GIB, Request
from pyscale.planning.joboptions import Allocation, asked_at, slurm_options, speaks_of_threads
from pyscale.planning.sites import Site
from pyscale.report.templating import templates
from pyscale_stages.contract import Stage

Dialect = Literal["sbatch", "nextflow", "snakemake"]

TEMPLATES: dict[Dialect, str] = {
    "sbatch": "request.sbatch.j2",
    "nextflow": "request.config.j2",
    "snakemake": "request.smk.j2",
}
MIB = 1 << 20
OF_WORKFLOWS = frozenset(
    ["partition", "nodes", "ntasks", "cpus-per-task", "mem", "mem-per-cpu", "time"]
)
"""Options of sbatch for which Nextflow and Snakemake have words of their own."""
OF_SNAKEMAKE = {
    "partition": "slurm_partition",
    "account": "slurm_account",
    "qos": "qos",
    "constraint": "constraint",
    "gres": "gres",
}
"""Resources by which Snakemake's executor for Slurm sets options that it refuses elsewhere."""

Options = Mapping[str, str | None]


def directives(
    dialect: Dialect,
    requests: Sequence[tuple[Request, Stage | None]],
    site: Site,
    ranks: Collection[str] = (),
) -> str:
    """Write requests as lines to paste, for a cluster.

    Each comes with the stage of pyscale that ran, if any: a site may request it otherwise. `ranks`
    are the stages whose workers are ranks, which one job starts.
    """
    environment = templates()
    environment.filters["quoted"] = _quoted
    template = environment.get_template(TEMPLATES[dialect])
    # Rules and processes of workflows are one a stage; jobs are alike in what they ask for.
    tasks: dict[object, dict[str, Any]] = {}
    for (request, stage), rule in zip(requests, _rules(requests), strict=True):
        task = _task(request, stage, site, rule, ranks=request.stage in ranks)
        alike = (request.workers, *task["directives"]) if dialect == "sbatch" else rule
        tasks.setdefault(alike, task)["stages"].append(request.stage)
    by_core = "mem-per-cpu" in site.request.by_name
    return template.render(tasks=[*tasks.values()], memory_by_core=by_core).rstrip("\n")


def _task(
    request: Request, stage: Stage | None, site: Site, rule: str, *, ranks: bool
) -> dict[str, Any]:
    together = request.windows if ranks else 1
    # Workflows are for other schedulers too: they get what the site itself says.
    options, own = _options(request, stage, site, together)
    of_site = {k: v for k, v in options.items() if k != "hint" or own}
    apart = OF_WORKFLOWS - ({"nodes", "ntasks"} if ranks else set())
    last = 0 if ranks else request.windows - 1
    array = {"array": f"0-{last}%{request.workers}"} if last else {}
    return {
        "request": request,
        "stages": [],
        "directives": _lines(request, rule, site)
        or [f"#SBATCH {option}" for option in _written(array | options)],
        "asks_memory": any(name in options for name in ("mem", "mem-per-cpu")),
        "memory_gib": (request.memory_bytes or 0) // GIB,
        "time_min": request.time_s // 60,
        "partition": options.get("partition"),
        "cluster_options": _written({k: v for k, v in of_site.items() if k not in apart}),
        "at_once": 1 if ranks else request.workers,
        "rule": rule,
        "resources": _resources(request, of_site)
        | ({"tasks": together} if together > 1 else {})
        | {f"{rule}_workers": 1},
    }


def _lines(request: Request, rule: str, site: Site) -> list[str]:
    """Head of one job on one node for all workers; empty where the scheduler is Slurm."""
    if site.scheduler is None:
        return []
    rounds = math.ceil(request.windows / request.workers)
    return site.scheduler.head(
        rule,
        request.workers * (request.cpus or 1),
        request.workers * request.gpus,
        math.ceil(request.workers * (request.memory_bytes or 0) / MIB),
        rounds * request.time_s // 60,
    )


def _options(
    request: Request, stage: Stage | None, site: Site, together: int
) -> tuple[dict[str, str | None], bool]:
    """Options of sbatch, without needs that nobody knows; and whether the site sets threads."""
    wanted = Allocation(
        request=asked_at(site, stage.name if stage else None, "cuda" if request.gpus else "cpu"),
        cpus=request.cpus or 1,
        memory_mib=(request.memory_bytes or 0) // MIB,
        time_min=request.time_s // 60,
        gpus=request.gpus,
    )
    unknown = set() if request.cpus else {"cpus-per-task"}
    if request.memory_bytes is None:
        unknown |= {"mem", "mem-per-cpu"}
    found = slurm_options(site, wanted, together)
    known = {name: value for name, value in found.items() if name not in unknown}
    return known, speaks_of_threads(wanted.request)


def _resources(request: Request, options: Options) -> dict[str, int | str]:
    found: dict[str, int | str] = {"runtime": request.time_s // 60}
    memory_mib = (request.memory_bytes or 0) // MIB
    if "mem" in options:
        found["mem_mb"] = memory_mib
    elif "mem-per-cpu" in options:
        found["mem_mb_per_cpu"] = math.ceil(memory_mib / (request.cpus or 1))
    elif request.memory_bytes is not None:
        # The site refuses requests for memory; Snakemake would request a default.
        found["mem_mb"] = 0
    found |= {
        OF_SNAKEMAKE[name]: value or "" for name, value in options.items() if name in OF_SNAKEMAKE
    }
    rest = {k: v for k, v in options.items() if k not in OF_WORKFLOWS | OF_SNAKEMAKE.keys()}
    return found | ({"slurm_extra": " ".join(_written(rest))} if rest else {})


def _written(options: Options) -> list[str]:
    return [
        f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()
    ]


def _rules(requests: Sequence[tuple[Request, Stage | None]]) -> list[str]:
    """Make a name of a rule from that of each stage, which may be any text in a table."""
    # Those that become alike are numbered: Snakemake refuses two rules of one name.
    found: list[str] = []
    for request, _ in requests:
        name = re.sub(r"\W|^(?=\d)", "_", request.stage, flags=re.ASCII)
        numbered = (f"{name}_{count}" for count in range(2, len(requests) + 2))
        found.append(next(rule for rule in (name, *numbered) if rule not in found))
    return found


def _quoted(text: str) -> str:
    """Quote a text as Groovy and Python both read it, without variables."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
