"""A reference from a run of pyscale, told by an allow-list: no people, hosts or paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.grid.parts import samples
from pyscale.analysis.grid.points import KINDS, SIZE, points_of, series_of
from pyscale.analysis.machine.findings import machine_tests, process_medians
from pyscale.analysis.referencemodel import (
    TEST_TABLE,
    TESTS,
    WORKERS,
    Loaded,
    Reference,
)
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.planning.runfacts import facts
from pyscale.planning.suite import suite_names
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import stands_apart
from pyscale.references.workid import size_ids_of, work_id_of
from pyscale.resources import shipped
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import Tables, build_tables
from pyscale.wording import at_each_n
from pyscale_stages.registry import load_stage

HARDWARE = (
    *("processor", "cores", "hardware threads", "frequency governors", "turbo", "memory"),
    *("memory limit", "processor quota", "GPUs", "GPU driver", "GPU power limit (W)"),
)
"""What `runfacts` tells of nodes and is of their kind, and not of one of them."""
CONDITIONS = {
    "model": "model",
    "batch_size": "tiles at once",
    "diameter_px": "diameter in pixels",
    "calls": "calls of a process",
}
"""Parameters of stages that times depend on, in words."""
NOT_NAMED = "of its own"
"""In place of a path, which may say where somebody is."""
WRONG = "disagrees"


class _Content(NamedTuple):
    """What a run has for a reference: a table with a column `sweep`, and what is said of it."""

    sweep: str
    table: pl.DataFrame
    figures: str
    caveats: tuple[str, ...]


def reference_from(run: RunFolder, name: str) -> Loaded:
    """Make a reference of what a run measured; nothing is written into its folder.

    Only what describes a kind of machine, the suite and the settings is taken over; a movie or a
    suite is named where it comes with pyscale. Names of the suite's entries are kept.
    """
    plan, tables = run.plan, build_tables(run)
    of_machine = plan.suite.data == "place"
    content = _of_tests(tables) if of_machine else _of_trials(plan, tables)
    if content.table.is_empty():
        raise UserError(
            f"the run {plan.run_id} has no timed {'test' if of_machine else 'trial'} to make a "
            f"reference of: `pyscale status {plan.run_id} --log` shows why"
        )
    manifest = build_manifest(run, tables.sources)
    # Of a sweep over sizes what else varies stands behind the name of an entry.
    kinds = {trial.entry: trial.stage for trial in plan.trials}
    kinds |= {plan.suite.stages[entry].family or entry: kind for entry, kind in kinds.items()}
    named = content.table["stage"].unique(maintain_order=True)
    reference = Reference(
        name=name,
        title=f"{name} ({' and '.join(manifest['hardware'])})",
        source=f"A run of pyscale {manifest['pyscale']['version']}, not published",
        # The id of a run begins with its date.
        measured=f"{datetime.strptime(plan.run_id[:8], '%Y%m%d'):%Y-%m-%d}",
        figures=content.figures if of_machine else f"{content.figures} {_what_ran(run)}",
        hardware=_hardware(plan, manifest, tables),
        caveats=content.caveats,
        sweep=content.sweep,
        stages={stage: kinds[stage.partition(", ")[0]] for stage in named},
        work_id=None if of_machine else work_id_of(run),
        size_ids={entry: it for entry, it in size_ids_of(plan).items() if entry in set(named)}
        if of_machine
        else {},
    )
    return Loaded(reference, content.table)


def _of_trials(plan: Plan, tables: Tables) -> _Content:
    """Take the wall times of a run over N, or the times of its calls by device and size."""
    apart = plan.entries_that(stands_apart)
    if apart >= {trial.entry for trial in plan.trials}:
        raise UserError(
            f"the run {plan.run_id} measured no independent tasks, of which alone a reference is "
            "made: set such runs side by side with `pyscale report RUN1 RUN2`"
        )
    trials = trial_table(tables.tasks, tables.spans)
    trials = trials.filter(~trials["stage"].is_in(apart))
    found, timed = configurations(trials), trials.filter("valid")
    caveats = tuple(_caveats(plan, found))
    if plan.suite.against == SIZE and (sizes := _of_sizes(plan, tables, trials, caveats)):
        return sizes
    # The mean over its tasks gives the load balance of a trial, merge included.
    table = timed.select(
        *("stage", "workers", "wall_s"),
        repeat="block",
        tasks="windows",
        mean_task_s=pl.col("busy_s") / pl.col("windows"),
        work="work",
    )
    return _Content(WORKERS, table, "wall times of the timed trials of", caveats)


FIGURES = {
    "steady": "time of a call on a square crop of length_px, in one worker: of each process the "
    "median of those after its first; building the model is not in it;",
    "first": "time of the first call of a process on a square crop of length_px, in one worker; "
    "building the model is not in it;",
}


def _of_sizes(
    plan: Plan, tables: Tables, trials: pl.DataFrame, caveats: tuple[str, ...]
) -> _Content | None:
    """Take the times of calls by device and size; None where there are none of one worker."""
    names: dict[str, str] = {}
    sizes: dict[str, Any] = {}
    for family, points in points_of(tables.tasks, list(plan.suite.stages)).items():
        named = {s: {axis: _pathless(it) for axis, it in p.items()} for s, p in points.items()}
        series = series_of(named, without=("device", SIZE))
        names |= {stage: f"{family}, {own}" if own else family for stage, own in series.items()}
        sizes |= {stage: point[SIZE] for stage, point in points.items() if SIZE in point}
    timed = samples(tables.calls, trials).filter(workers=1).filter(pl.col("stage").is_in([*sizes]))
    measure = "steady" if (timed["measure"] == "steady").any() else "first"
    own = [trial for trial in plan.trials if trial.entry in set(timed["stage"])]
    if not own:
        return None
    devices = {trial.entry: trial.device for trial in own}
    gpus = [gpu for one in tables.sources.hardware.values() for gpu in one["stamp"].get("gpus", ())]
    models = {gpu.get("name") or "" for gpu in gpus}
    words = re.findall(r"[a-z0-9]+", models.pop().lower()) if len(models) == 1 else []
    # A name of a device holds one word for its kind.
    cuda = "-".join(["cuda", *(word for word in words if word not in KINDS)])
    stage = pl.col("stage")
    table = timed.filter(measure=measure).select(
        stage=stage.replace_strict(names, return_dtype=pl.String),
        device=stage.replace_strict(devices, return_dtype=pl.String).replace("cuda", cuda),
        length_px=stage.replace_strict(sizes, return_dtype=pl.Float64),
        wall_s="time_s",
        repeat="block",
    )
    return _Content(SIZE, table, FIGURES[measure], caveats)


def _pathless(value: Any) -> Any:
    """Value of a parameter, or other words where it is a text with a folder in it."""
    return NOT_NAMED if isinstance(value, str) and re.search(r"[/\\]", value) else value


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(sorted({str(_pathless(value)) for value in values if value is not None}))


def _of_tests(tables: Tables) -> _Content:
    """Take the tests of a run that measured nothing but the machine, of all nodes as of one."""
    found = machine_tests(tables.timings)
    test = ["stage", "workers", "node", "device", "test", "at_once"]
    wrong = found.filter(pl.col("flags").list.contains(WRONG)).select(test).unique()
    together = found.select(*test, "processes").unique()
    table = (
        process_medians(tables.timings)
        .drop_nulls("wall_s")
        .join(wrong, on=test, how="anti", nulls_equal=True, maintain_order="left")
        .join(together, on=test, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            # All nodes count as one, so that N are the processes of a node.
            workers="processes",
            worker=pl.col("task").rank("dense").over("trial", "node").cast(pl.Int64) - 1,
            timing="step",
        )
        .with_columns(
            repeat=pl.int_range(pl.len()).over(
                *("stage", "workers", "worker", "device", "test", "at_once", "step")
            )
        )
        .select([*TEST_TABLE])
    )
    return _Content(
        TESTS,
        table,
        "wall times of tests of the machine itself, and of the steps inside them: of each process "
        "the median over its repeats, without first calls",
        tuple(_caveats_of_tests(found, table)),
    )


PLACES = {
    "place_filesystem": "measured filesystem",
    "cache_filesystem": "filesystem of the cache folder",
}
"""Filesystems are told by their kind: no folder and no server is named."""


def _caveats_of_tests(found: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    yield (
        "Each test was timed by processes of their own, within the minutes of one run: another "
        "day is not in their spread."
    )
    # What one device could not do, another may have done.
    absent = sorted(set(found.filter("whole", found["why_not"] != "")["test"]) - set(table["test"]))
    if absent:
        yield f"Not measured there: {', '.join(absent)}."
    for code, sentence in SENTENCES.items():
        flagged = found.filter("whole", found["flags"].list.contains(code))
        tests = ", ".join(dict.fromkeys(flagged["test"]))
        if tests:
            is_wrong = f"Left out, as the result was wrong there: {tests}."
            yield is_wrong if code == WRONG else f"{tests}: {sentence}"


def _caveats(plan: Plan, table: pl.DataFrame) -> Iterator[str]:
    """Say how configurations were measured, and every doubt about them with its places."""
    yield (
        f"{table['repeats'].sum()} of {len(plan.trials)} planned trials were timed, in randomised "
        f"blocks; scaling is {Sweep.of(plan)}."
    )
    states = sorted(set(table["cache_state"].drop_nulls()))
    yield (
        f"The page cache of the inputs was requested as {plan.settings['cache']} before each "
        f"trial, and was {' or '.join(states) or 'not checked'}."
    )
    rows = table.to_dicts()
    for code, sentence in SENTENCES.items():
        raised = [(row["stage"], row["workers"]) for row in rows if code in row["flags"]]
        if raised:
            yield f"{'; '.join(at_each_n(raised))}: {sentence}"


def _what_ran(run: RunFolder) -> str:
    plan = run.plan
    suite, data = plan.suite.name, plan.settings.get("data")
    named = f"the suite {suite}" if suite in suite_names() else "a suite of one's own"
    known = data in load_registry(shipped("config")).datasets
    if plan.movie is None:
        return named
    own = "a movie of its own" if plan.suite.unit == "frames" else "data of its own"
    return f"{named} on {data if known else own}, {plan.movie_frames} {plan.suite.unit}"


def _hardware(plan: Plan, manifest: Mapping[str, Any], tables: Tables) -> dict[str, str]:
    """Tell of the nodes what is of their kind, and with what they were measured."""
    settings, nodes = plan.settings, set(tables.tasks["node"].drop_nulls())
    every = facts(plan, manifest, nodes, ())["hardware"]
    told = {name: every.get(name) for name in HARDWARE}
    stamps = [found["stamp"] for found in manifest["hardware"].values()]
    disks = [disk["fs_type"] for stamp in stamps for disk in stamp.get("filesystems", ())]
    # Versions of what the stages are made of, each once; a checksum of weights is no version.
    software = dict.fromkeys(
        f"{package} {versions[package]}"
        for stage, versions in manifest["versions"].items()
        for package in load_stage(stage).packages
        if package in versions
    )
    places, params = tables.sources.places.values(), [trial.params for trial in plan.trials]
    found = {
        **told,
        "filesystems": _listed(disks),
        **{name: _listed(one.get(key) for one in places) for key, name in PLACES.items()},
        "nodes": str(len(nodes)),
        "cores of a worker": plan.threads_in_words,
        "device": _listed(trial.device for trial in plan.trials),
        "executor": settings["executor"],
        "runtime": settings["runtime"],
        "software": ", ".join([*software, f"Python {manifest['python']}"]),
        **{name: _listed(one.get(key) for one in params) for key, name in CONDITIONS.items()},
    }
    return {name: found[name] for name in found if found.get(name)}
