"""What a run was made from, and the lines that would measure it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from pyscale.data.registry import Dataset, load_registry
from pyscale.evaluation.runline import repeat_line
from pyscale.planning.plan import Plan
from pyscale.planning.runfacts import facts as facts_of
from pyscale.planning.sweep import Sweep
from pyscale.progress.status import queue_waits_s
from pyscale.progress.statusview import duration
from pyscale.references.workid import work_id_of
from pyscale.report.context import Command, Node, ReportContext, Work
from pyscale.resources import shipped
from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.tables import Tables
from pyscale.wording import ABSENT
from pyscale_stages.contract import Device, Method
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural

MOST_FILES = 30
"""Files of the input that are named; a movie may be a folder of thousands."""


def context_of(run: RunFolder, manifest: dict[str, Any], tables: Tables) -> ReportContext:
    """What a report says of where the numbers of a run come from."""
    plan, tasks = run.plan, tables.tasks
    settings = plan.settings
    found = nodes(manifest, tasks)
    recorded = set(tasks["trial"]) | tables.sources.unreadable.keys()
    absent = [trial.id for trial in plan.trials if trial.id not in recorded]
    untold = [
        f"{len(absent)} of {len(plan.trials)} planned trials have no record: {', '.join(absent)}."
    ]
    of_movie = {
        "windows of each worker": str(settings["chunks_per_worker"]),
        "scaling": str(Sweep.of(plan)),
        "page cache of the inputs before each trial": settings["cache"],
    }
    cluster = {} if plan.site is None else {"cluster": plan.site.name}
    started: Any = tasks["submit_utc"].min()
    ended: Any = tasks["end_utc"].max()
    return ReportContext(
        title=plan.title,
        settings={
            "executor": settings["executor"],
            **cluster,
            **({"allocation": _allocation(run)} if plan.site else {}),
            "runtime": settings["runtime"],
            "cores and threads of each worker": plan.threads_in_words,
            **({} if plan.movie is None else of_movie),
            "order of trials": f"randomised blocks, seed {settings['seed']}",
            "pyscale": manifest["pyscale"]["version"],
        },
        hardware=tuple(_properties(one.stamp, ", ".join(one.names)) for one in found),
        measured_for=plan.measured_for,
        run_id=plan.run_id,
        work_id=work_id_of(run),
        started=started,
        took=duration((ended - started).total_seconds()) if started and ended else None,
        nodes=found,
        facts=facts(plan, manifest),
        commands=commands(plan),
        works=works(plan, tables.sources.entry_versions),
        adds_up=adds_up(plan),
        lacking=(
            *(untold if absent else []),
            *tables.sources.unreadable.values(),
            *plan.unjudged,
        ),
    )


def nodes(manifest: Mapping[str, Any], tasks: pl.DataFrame) -> tuple[Node, ...]:
    """Every kind of node that tasks ran on, with its whole stamp."""
    kinds = []
    for label, found in manifest["hardware"].items():
        names = tasks.filter(tasks["hardware"] == label)["node"].drop_nulls()
        kinds.append(Node(names=tuple(sorted(set(names))), stamp=found["stamp"]))
    return tuple(kinds)


def facts(plan: Plan, manifest: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Input, code, images, versions and settings, each by name and value."""
    entries = {trial.entry for trial in plan.trials}
    versions = manifest["entry_versions"] or manifest["versions"]
    found = {
        "Input": dict(_input(plan, manifest["input"]["files"])),
        "Folder measured": {"path": str(plan.place)} if plan.place else {},
        "Code": dict(_code(manifest)),
        "Images": dict(_images(manifest["containers"] or {})),
        **{
            f"Versions in {name}": dict(versions[name])
            for name in dict.fromkeys([*map(plan.suite.stage_name, plan.suite.stages), *versions])
            if name in versions
        },
        "Settings": facts_of(plan, manifest, (), entries)["settings"],
    }
    return {heading: named for heading, named in found.items() if named}


def commands(plan: Plan) -> tuple[Command, ...]:
    """Lines that fetch the input where that can be, measure it again, and report this run."""
    named = [str(plan.settings["data"]), *(own.data for own in plan.own_data)]
    known = load_registry(shipped("config")).datasets
    fetched = " ".join(name for name in named if plan.movie and name in known)
    fetch = Command(what="Fetch the input", line=f"pyscale data fetch {fetched}")
    return (
        *([fetch] if fetched else []),
        Command(what="Measure it again", line=repeat_line(plan)),
        Command(what="Write this report again", line=f"pyscale report {plan.run_id}"),
    )


def works(plan: Plan, versions: Mapping[str, Mapping[str, str]]) -> dict[str, Work]:
    """What each entry computed, by which algorithm, and how right its suite asks it to be."""
    found = {}
    datasets = load_registry(shipped("config")).datasets
    for trial in plan.trials:
        step = plan.suite.stages[trial.entry]
        method = method_of(trial.stage, trial.params, trial.device)
        recorded = versions.get(trial.entry, {})
        named = (
            *method.packages,
            *(["tifffile"] if plan.suite.data in {"movie", "labels"} else []),
        )
        data = trial.data or str(plan.settings["data"])
        known = datasets.get(data) if plan.movie else None
        found[trial.entry] = Work(
            data=Path(data).name if plan.movie else ABSENT,
            source=known and _citation(known),
            how=method.shown(recorded),
            stand_in=method.stand_in and f"{step.family or trial.entry} ran {method.stand_in}.",
            packages={name: recorded[name] for name in named if name in recorded},
            cites=method.cites,
            at_least=step.at_least,
            at_most=step.at_most,
        )
    # Trials are in random order.
    return {entry: found[entry] for entry in plan.suite.stages if entry in found}


def _citation(dataset: Dataset) -> str:
    doi = f", https://doi.org/{dataset.doi}" if dataset.doi else ""
    return f"{dataset.citation}{doi}"


def method_of(stage: str, params: Mapping[str, Any], device: Device) -> Method:
    """The algorithm that parameters choose; the stage's name alone where they are another's."""
    declared = load_stage(stage)
    # Another version of pyscale may have measured it, with parameters that are gone.
    known = {name: params[name] for name in params if name in declared.params.model_fields}
    for given in (params, known):
        try:
            return declared.method(declared.params.model_validate(given), device)
        except ValidationError:
            continue
    return Method(stage)


def adds_up(plan: Plan) -> bool:
    """Whether all stages process one dataset once: no two do the same to the same input."""
    steps = plan.suite.stages.items()
    done = {(plan.suite.stage_name(entry), *sorted(step.inputs.items())) for entry, step in steps}
    return len(done) == len(steps) and not any(trial.data for trial in plan.trials)


def _input(plan: Plan, files: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    if plan.movie is None:
        return
    yield plan.suite.unit, str(plan.movie_frames)
    for own in plan.own_data:
        yield f"frames of {Path(own.data).name}", str(own.frames)
    if len(files) > MOST_FILES:
        yield "files", f"{len(files)}; provenance_manifest.json names those left out here"
    for file in files[:MOST_FILES]:
        yield file["name"], f"{file['size_bytes']} bytes, sha256 {file['sha256']}"


def _code(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    own = manifest["pyscale"]
    yield "pyscale", own["version"]
    if own["git_commit"]:
        changes = ", with changes that were not committed" if own["git_dirty"] else ""
        yield "commit", f"{own['git_commit']}{changes}"
    yield "Python", manifest["python"]


def _images(containers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if containers:
        yield "container program", containers["engine"] or "told by the nodes alone"
    for image in containers.get("images", ()):
        commit = f", code of commit {image['git_commit']}" if image["git_commit"] else ""
        lock = "" if image["locked"] else ", not the one that images.lock names"
        yield image["name"], f"sha256 {image['sha256']}{commit}{lock}"


def _allocation(run: RunFolder) -> str:
    """The jobs that held nodes for all trials, and their wait, which is no wait of a worker."""
    jobs = read_allocations(run.path).jobs
    waits_s = queue_waits_s(jobs, Journal(run.journal_file).read())
    at = {job.job_id: f" (N = {job.workers})" for job in jobs if job.workers is not None}
    waited = ", ".join(f"{s:.0f} s{at.get(job, '')}" for job, s in waits_s.items()) or "unknown"
    return (
        f"{plural(len(jobs), 'job')} for all trials; queue wait of a job: "
        f"{waited}; the queue wait of a worker is that of its step inside the job"
    )


def _properties(stamp: dict[str, Any], nodes: str) -> dict[str, str]:
    """What a reader of the report must know of the nodes of one kind."""
    cpu, memory = stamp.get("cpu", {}), stamp.get("memory", {})
    found = {
        "nodes": nodes or None,
        "processor": cpu.get("model"),
        "cores": cpu.get("cores"),
        "cores of a task": len(cpu.get("usable", [])) or None,
        "memory": f"{memory['total_bytes'] / 2**30:.0f} GiB" if "total_bytes" in memory else None,
        "GPUs": ", ".join(gpu.get("name") or "a GPU" for gpu in stamp.get("gpus", [])) or "none",
        "filesystems": ", ".join(
            sorted({fs.get("fs_type", "unknown") for fs in stamp.get("filesystems", [])})
        ),
        "kernel": stamp.get("kernel"),
        "load at start": f"{stamp['load_1min']:.2f}" if "load_1min" in stamp else None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}
