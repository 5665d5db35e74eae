"""A reference from a run of pyscale, told by an allow-list: no people, hosts or paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from pyscale.analysis.flags import SENTENCES, flags_of
from pyscale.analysis.grid.points import SIZE
from pyscale.analysis.ranks.findings import rank_findings
from pyscale.analysis.referencemodel import WORKERS, Content, Loaded, Reference
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.planning.runfacts import facts
from pyscale.planning.suite import suite_names
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import stands_apart
from pyscale.references.fromgrid import size_sweep
from pyscale.references.fromranks import of_ranks
from pyscale.references.fromtests import of_tests
from pyscale.references.workid import work_id_of
from pyscale.resources import shipped
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import Tables, build_tables
from pyscale_stages.registry import load_stage

HARDWARE = (
    *("processor", "cores", "hardware threads", "frequency governors", "turbo", "memory"),
    *("memory limit", "processor quota", "GPUs", "GPU driver", "GPU power limit (W)"),
)
"""What `runfacts` tells of nodes and is of their kind, and not of one of them."""


def reference_from(run: RunFolder, name: str) -> Loaded:
    """Make a reference of the timed trials of a run; nothing is written into its folder.

    Only what describes a kind of machine, the suite and the settings is taken over; a movie or a
    suite is named where it comes with pyscale. Names of the suite's entries are kept.
    """
    plan = run.plan
    tables = build_tables(run)
    of_machine = plan.suite.data == "place"
    content = of_tests(run, tables) if of_machine else _of_trials(run, tables)
    if content.table.is_empty():
        raise UserError(
            f"the run {plan.run_id} has no timed {'test' if of_machine else 'trial'} to make a "
            f"reference of: `pyscale status {plan.run_id} --log` shows why"
        )
    manifest = build_manifest(run, tables.sources)
    reference = Reference(
        name=name,
        title=f"{name} ({' and '.join(manifest['hardware'])})",
        source=f"A run of pyscale {manifest['pyscale']['version']}, not published",
        # The id of a run begins with its date.
        measured=f"{datetime.strptime(plan.run_id[:8], '%Y%m%d'):%Y-%m-%d}",
        figures=content.figures if of_machine else f"{content.figures} {_what_ran(run)}",
        hardware=hardware_of(run, manifest, tables.tasks) | dict(content.conditions),
        caveats=tuple(_caveats(plan, content)),
        sweep=content.sweep,
        stages=dict(content.stages),
        work_id=None if of_machine else work_id_of(run),
        size_ids=dict(content.size_ids),
    )
    return Loaded(reference, content.table)


def _of_trials(run: RunFolder, tables: Tables) -> Content:
    """Take the wall times of a run, or what ranks told of which wall times say nothing."""
    plan = run.plan
    trials = trial_table(tables.tasks, tables.spans)
    trials = trials.filter(~trials["stage"].is_in(plan.entries_that(stands_apart)))
    # What is advised is no part of a reference, so that any share to keep will do.
    ranks = rank_findings(tables.loading, tables.reconstruction, keep=1)
    if trials.is_empty() and ranks:
        return of_ranks(plan, ranks)
    timed = trials.filter("valid")
    table = configurations(trials)
    stamps = [found["stamp"] for found in tables.sources.hardware.values()]
    if timed.is_empty() or (sizes := size_sweep(plan, tables, trials, table, stamps)) is None:
        entries = timed["stage"].unique(maintain_order=True)
        return Content(
            # The mean over its tasks gives the load balance of a trial, merge included.
            table=timed.select(
                *("stage", "workers", "wall_s"),
                repeat="block",
                tasks="windows",
                mean_task_s=pl.col("busy_s") / pl.col("windows"),
                work="work",
            ),
            sweep=WORKERS,
            stages={entry: plan.suite.stage_name(entry) for entry in entries},
            figures="wall times of the timed trials of",
            configurations=table,
        )
    return sizes


def _what_ran(run: RunFolder) -> str:
    """Name suite and data, where the names are not a user's own."""
    plan = run.plan
    suite, data = plan.suite.name, plan.settings.get("data")
    named = f"the suite {suite}" if suite in suite_names() else "a suite of one's own"
    known = data in load_registry(shipped("config")).datasets
    if plan.movie is None:
        return named
    own = "a movie of its own" if plan.suite.unit == "frames" else "data of its own"
    return f"{named} on {data if known else own}, {plan.movie_frames} {plan.suite.unit}"


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


def _caveats(plan: Plan, content: Content) -> Iterator[str]:
    """Say how it was measured, and every doubt about it."""
    table = content.configurations
    if table is not None:
        scaling = f"; scaling is {Sweep.of(plan)}" if content.sweep in {WORKERS, SIZE} else ""
        yield (
            f"{table['repeats'].sum()} of {len(plan.trials)} planned trials were timed, in "
            f"randomised blocks{scaling}."
        )
        if "cache_state" in table.columns:
            states = sorted(set(table["cache_state"].drop_nulls()))
            yield (
                f"The page cache of the inputs was requested as {plan.settings['cache']} before "
                f"each trial, and was {' or '.join(states) or 'not checked'}."
            )
        for code, sentence in SENTENCES.items():
            counts: dict[str, list[str]] = {}
            for row in table.to_dicts():
                if code in flags_of(row):
                    counts.setdefault(row["stage"], []).append(str(row["workers"]))
            places = "; ".join(f"{stage} at N = {', '.join(own)}" for stage, own in counts.items())
            if places:
                yield f"{places}: {sentence}"
    yield from content.caveats
