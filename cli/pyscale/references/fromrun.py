"""A reference from a run of pyscale, told by an allow-list: no people, hosts or paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.grid.axes import SIZE
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.references.fromgrid import size_sweep
from pyscale.references.fromtests import reference_of_tests
from pyscale.references.model import WORKERS, Loaded, Reference
from pyscale.references.workid import work_id_of
from pyscale.runfacts import facts
from pyscale.shipped import shipped
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables
from pyscale.suite import suite_names
from pyscale.sweep import Sweep
from pyscale.traits import has_own_work, shares_result, stands_apart
from pyscale_stages.registry import load_stage

HARDWARE = (
    *("processor", "cores", "hardware threads", "frequency governors", "turbo", "memory"),
    *("memory limit", "processor quota", "GPUs", "GPU driver", "GPU power limit (W)"),
)
"""What `pyscale.runfacts` tells of nodes and is of their kind, and not of one of them."""


def reference_from(run: RunFolder, name: str) -> Loaded:
    """Make a reference of the timed trials of a run.

    It is one of wall times by N; of a grid over sizes, of its times by size; of a run that
    measured nothing but the machine, of its tests.

    Only what describes a kind of machine, the suite and the settings is taken over; a movie or a
    suite is named where it comes with pyscale. Names of the suite's entries are kept.

    Parameters
    ----------
    run : RunFolder
        Nothing is written into it.
    name : str
        What to call the reference.

    Raises
    ------
    UserError
        If no trial was timed, or the run does not tell what it was measured with.
    """
    plan = run.plan
    tables = build_tables(run)
    trials = trial_table(tables.tasks, tables.spans)
    if plan.suite.data == "place":
        return reference_of_tests(run, tables, name)
    # What the base of a change took is no reference for anything.
    others = {*plan.entries_that(stands_apart), *plan.versions.values()}
    trials = trials.filter(~trials["stage"].is_in(others))
    if trials.is_empty() and plan.entries_that(has_own_work):
        raise UserError(
            f"the run {plan.run_id} measured the loading of patches, which cannot become a "
            "reference (references hold wall times): compare its benchmark_loader.csv with that "
            "of another run"
        )
    if trials.is_empty() and plan.entries_that(shares_result):
        raise UserError(
            f"the run {plan.run_id} measured distributed reconstruction, which cannot become a "
            "reference (references hold wall times of tasks): compare its "
            "benchmark_reconstruct.csv with that of another run"
        )
    timed = trials.filter("valid")
    if timed.is_empty():
        raise UserError(
            f"the run {plan.run_id} has no timed trial to make a reference of: `pyscale status "
            f"{plan.run_id} --log` shows why"
        )
    manifest = build_manifest(run, tables.sources)
    measured = configurations(trials)
    stamps = [found["stamp"] for found in manifest["hardware"].values()]
    sizes = size_sweep(plan, tables, trials, measured, stamps)
    entries = timed["stage"].unique(maintain_order=True)
    figures = f"{sizes.figures};" if sizes else "wall times of the timed trials of"
    hardware = hardware_of(run, manifest, tables.tasks)
    reference = Reference(
        name=name,
        title=f"{name} ({' and '.join(manifest['hardware'])})",
        source=f"A run of pyscale {manifest['pyscale']['version']}, not published",
        measured=day_of(plan),
        figures=f"{figures} {_what_ran(run)}",
        hardware=hardware | (sizes.conditions if sizes else {}),
        caveats=tuple(_caveats(run, measured, n_timed=timed.height)),
        sweep=SIZE if sizes else WORKERS,
        stages=sizes.stages if sizes else {e: plan.suite.stage_name(e) for e in entries},
        work_id=work_id_of(run),
    )
    return Loaded(reference, sizes.table if sizes else _wall_times(timed))


def day_of(plan: Plan) -> str:
    """Day on which a run began."""
    return f"{datetime.strptime(plan.run_id[:8], '%Y%m%d'):%Y-%m-%d}"


def _wall_times(timed: pl.DataFrame) -> pl.DataFrame:
    """One row a trial; the mean over its tasks gives the load balance, merge included."""
    return timed.select(
        "stage",
        "workers",
        "wall_s",
        pl.col("block").alias("repeat"),
        pl.col("windows").alias("tasks"),
        (pl.col("busy_s") / pl.col("windows")).alias("mean_task_s"),
        "work",
    )


def _what_ran(run: RunFolder) -> str:
    """Name suite and movie, where the names are not a user's own."""
    plan = run.plan
    suite, movie = plan.suite.name, plan.settings["data"]
    named = f"the suite {suite}" if suite in suite_names() else "a suite of one's own"
    known = movie in load_registry(shipped("config")).datasets
    return f"{named} on {movie if known else 'a movie of its own'}, {plan.movie_frames} frames"


def hardware_of(run: RunFolder, manifest: Mapping[str, Any], tasks: pl.DataFrame) -> dict[str, str]:
    """Tell of the nodes what is of their kind, and with what they were measured."""
    plan, settings = run.plan, run.plan.settings
    nodes = set(tasks["node"].drop_nulls())
    told = facts(plan, manifest, nodes, ())["hardware"]
    types = {
        disk["fs_type"]
        for found in manifest["hardware"].values()
        for disk in found["stamp"].get("filesystems", ())
    }
    return {name: told[name] for name in HARDWARE if told.get(name)} | {
        "filesystems": ", ".join(sorted(types)),
        "nodes": str(len(nodes)),
        "cores of a worker": plan.threads_in_words,
        "device": settings["device"],
        "executor": settings["executor"],
        "runtime": settings["runtime"],
        "software": ", ".join(_software(manifest)),
    }


def _software(manifest: Mapping[str, Any]) -> list[str]:
    """Versions of what the stages are made of, each once; a checksum of weights is no version."""
    packages = {
        f"{package} {versions[package]}": None
        for stage, versions in manifest["versions"].items()
        for package in load_stage(stage).packages
        if package in versions
    }
    return [*packages, f"Python {manifest['python']}"]


def _caveats(run: RunFolder, table: pl.DataFrame, n_timed: int) -> Iterator[str]:
    """Say how it was measured, and every doubt about it."""
    n_planned = len(run.plan.trials)
    yield (
        f"{n_timed} of {n_planned} planned trials were timed, in randomised blocks; scaling is "
        f"{Sweep.of(run.plan)}."
    )
    states = sorted(set(table["cache_state"].drop_nulls()))
    yield (
        f"The page cache of the inputs was requested as {run.plan.settings['cache']} before each "
        f"trial, and was {' or '.join(states) or 'not checked'}."
    )
    for code, sentence in SENTENCES.items():
        flagged = [row for row in table.to_dicts() if code in row["flags"]]
        counts: dict[str, list[str]] = {}
        for row in flagged:
            counts.setdefault(row["stage"], []).append(str(row["workers"]))
        places = "; ".join(f"{stage} at N = {', '.join(own)}" for stage, own in counts.items())
        if places:
            yield f"{places}: {sentence}"
