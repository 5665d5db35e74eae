"""Rows of the tidy tables, from the records of one trial, and columns of those of ranks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.declared import FLAG, REAL, TEXT, WHOLE, Schema, columns, row_of, schema_of
from pyscale.analysis.ranks.loader import SETTINGS, setting_columns
from pyscale.analysis.workers import most_at_once
from pyscale.planning.plan import Trial
from pyscale.planning.traits import has_own_work, shares_result
from pyscale.store.folder import RunFolder
from pyscale.store.records import LaunchRecord, TaskOrder, TaskRecord
from pyscale.store.taskfiles import MEMORY_LIMIT, read_cache, read_node, read_surroundings
from pyscale_stages.contract import Agreement, AnySample, TaskError, TaskResult
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.loading import Loading
from pyscale_stages.measure.mounts import UNKNOWN
from pyscale_stages.reconstruction import Iteration, Reconstruction
from pyscale_stages.timing import Call, Timing

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""Rows of each of the tables."""

WHOSE = (
    *("trial", "suite", "stage", "kind", "family", "workers", "block"),
    *("task", "verb", "node", "hardware"),
)
"""Columns of a task that the rows have which it told; each table takes those that it names."""
_VERBS = {"merge": "merge", "check": "check", "beside": "check"}


def trial_rows(run: RunFolder, trial: Trial, records: Mapping[str, TaskRecord]) -> Rows:
    """Rows of the tasks of a trial that have ended, and of all that these told beside.

    All times are as the nodes told them.
    """
    attempts = run.attempts(trial)
    rows: Rows = defaultdict(list)
    for task, record in records.items():
        if record.state in {"done", "failed"}:
            header = _header(run, trial, task) | {"attempt": attempts}
            own = header | _columns(trial, task, record)
            rows["tasks"].append(own)
            whose = {name: own.get(name) for name in WHOSE}
            for table, told in _told(record.result):
                rows[table].append(whose | told)
    _add_what_nodes_were_like(run, trial, rows["tasks"])
    rows["loading"].extend(loading_rows(trial, rows["tasks"], records))
    rows["reconstruction"].extend(reconstruction_rows(trial, rows["tasks"], records))
    return rows


def _header(run: RunFolder, trial: Trial, task: str) -> Row:
    step = run.plan.suite.stages[trial.entry]
    return {
        "trial": trial.id,
        "suite": run.plan.suite.name,
        "stage": trial.entry,
        "kind": trial.stage,
        "workers": trial.workers,
        "windows": len(trial.windows),
        "joins": trial.joins,
        "block": trial.block,
        "task": task,
        "verb": _VERBS.get(task, "run"),
        "device": trial.device,
        "family": step.family or trial.entry,
        "point": json.dumps(step.point),
        "threads": run.plan.threads_of(trial),
        "quality": "{}",
        "warned": "[]",
        "image": trial.image,
    }


def _columns(trial: Trial, task: str, record: TaskRecord) -> Row:
    return {
        "status": record.state,
        "error": record.error.message if record.error else None,
        **(_order_columns(record.order) if record.order else {}),
        **(_launch_columns(record.launch) if record.launch else {}),
        **(_result_columns(trial, task, record.result) if record.result else {}),
    }


def _told(result: TaskResult | None) -> Iterator[tuple[str, Row]]:
    """Rows of what a task told beside, each with its table."""
    if result is None:
        return
    for span in result.spans:
        told = {"phase": span.phase, "start_utc": span.start_utc, "wall_s": span.wall_s}
        yield "spans", told
    for call in result.of(Call):
        rows, columns = call.shape_yx
        of_call = {"frame": call.frame, "call": call.index, "pixels": rows * columns}
        yield "calls", of_call | {"wall_s": call.wall_s, "objects": call.objects}
        build = {} if call.build_s is None else {"build": call.build_s}
        for part, wall_s in (build | call.parts).items():
            yield "calls", of_call | {"part": part, "wall_s": wall_s, "objects": None}
    for timing in result.of(Timing):
        yield "timings", row_of(timing)
    for measured in result.measured:
        yield "measures", row_of(measured)


def _add_what_nodes_were_like(run: RunFolder, trial: Trial, rows: list[Row]) -> None:
    """Say of each task how its node's page cache was prepared, and whether it had to share."""
    folder = run.trial(trial)
    nodes = defaultdict(list)
    for row in rows:
        if "node" in row:
            nodes[row["node"]].append(row)
    for node, there in nodes.items():
        # On its own machine pyscale itself prepares and looks around, for the trial as a whole.
        own = read_node(folder, node)
        cache = own.cache if own else read_cache(folder)
        windows = [row for row in there if row["verb"] == "run"]
        # What a merge or check reads was written just before.
        for row in windows:
            row["cache_asked"] = cache.asked if cache else None
            row["cache_state"] = cache.state if cache else None
        seen = own.surroundings if own else read_surroundings(folder)
        if seen is None or (own is None and seen.start.node != node):
            continue
        times = [(row["start_utc"], row["end_utc"]) for row in windows if "end_utc" in row]
        threads = most_at_once(times) * run.plan.threads_of(trial)
        for row in there:
            row["disturbed"] = seen.disturb(threads)


def _order_columns(order: TaskOrder) -> Row:
    columns: Row = {
        "submit_utc": order.submit_utc,
        "lane": order.slot,
        "oversubscribed": order.oversubscribed,
    }
    if order.requested is None:
        return columns
    return columns | {
        "requested_cpus": order.requested.cpus,
        "requested_memory_bytes": order.requested.memory_bytes,
        "requested_time_s": order.requested.time_limit_s,
        "requested_gpus": order.requested.gpus,
    }


def _launch_columns(launch: LaunchRecord) -> Row:
    return {
        "begin_utc": launch.begin_utc,
        "prepare_s": (launch.spawn_utc - launch.begin_utc).total_seconds(),
        "node": launch.node,
        "job_id": launch.job_id,
    }


def _result_columns(trial: Trial, task: str, result: TaskResult) -> Row:
    compared = _beside_columns(trial, result) if task == "beside" else _checked(trial, result)
    return compared | {
        "wall_s": result.wall_s,
        "start_utc": result.start_utc,
        "end_utc": result.end_utc,
        **row_of(result.counters),
        "input_storage": _input_storage(result),
        "hardware": result.stamp.get("label"),
        "image_sha256": result.stamp.get("image_sha256"),
        "warned": json.dumps([warning.model_dump() for warning in result.warned]),
    }


def _input_storage(result: TaskResult) -> str | None:
    """Filesystem of the inputs by type and device; null where it is not told, or there are two."""
    inputs = [path for _, path in result.spec.inputs]
    found = {
        f"{disk.get('fs_type')} on {disk.get('device')}"
        for disk in result.stamp.get("filesystems", ())
        if disk.get("fs_type") != UNKNOWN
        and any(Path(disk.get("path", "")).is_relative_to(path) for path in inputs)
    }
    return found.pop() if len(found) == 1 else None


def _checked(trial: Trial, result: TaskResult) -> Row:
    # Where nothing else is compared with the reference, its check is for its quality alone.
    agreement = result.agreement if trial.compared else None
    return {
        **_agreed(agreement, "", ("same", "identical", "measure", "tolerance")),
        "quality": json.dumps(result.quality, sort_keys=True),
    }


def _beside_columns(trial: Trial, result: TaskResult) -> Row:
    agreement = result.agreement
    return {
        "beside_trial": trial.beside_trial,
        **_agreed(agreement, "beside_", ("identical", "measure", "tolerance")),
        "beside_details": json.dumps(agreement.details if agreement else {}, sort_keys=True),
    }


def _agreed(agreement: Agreement | None, beside: str, names: Iterable[str]) -> Row:
    """How far outputs agree; null where they were not compared."""
    told = {f"{beside or 'agreement_'}{name}": getattr(agreement, name, None) for name in names}
    return {f"{beside}agreement": agreement.score if agreement else None, **told}


def rank_schema() -> Schema:
    """Columns that all of these tables have: those of the table of tasks, and what is a rank's."""
    return columns(
        (TEXT, "trial suite stage family point"),
        (WHOLE, "workers block"),
        (TEXT, "task"),
        (WHOLE, "rank attempt"),
        (TEXT, "status error node hardware"),
        (FLAG, "oversubscribed disturbed exhausted"),
        (TEXT, "settings"),
    )


def _rank_rows(
    trial: Trial,
    tasks: Iterable[Mapping[str, Any]],
    records: Mapping[str, TaskRecord],
    names: Iterable[str],
) -> Iterator[tuple[TaskRecord, dict[str, Any]]]:
    """Record of each window's task that ended, and columns of `rank_schema` and of these names."""
    for row in tasks:
        if row["verb"] == "run":
            record = records[row["task"]]
            yield (
                record,
                {
                    **{name: row.get(name) for name in (*rank_schema(), *names)},
                    "rank": int(row["task"].removeprefix("w")),
                    "exhausted": _ran_out_of_memory(record.error),
                    "settings": json.dumps(trial.params, sort_keys=True),
                },
            )


def reconstruction_schema() -> Schema:
    """Columns of the table of reconstruction, one row a timed iteration of a rank of a trial.

    See docs/columns.md. A rank that failed has one row, with its error and null in all that was to
    be measured.
    """
    return (
        rank_schema()
        | columns((TEXT, "problem"), (WHOLE, "size_px"))
        | schema_of(Reconstruction)
        | columns((TEXT, "device"), (REAL, "deviation_interior deviation_border"))
        | columns((WHOLE, "iteration"))
        | schema_of(Iteration)
        | columns((REAL, "objective_s"))
    )


def reconstruction_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not shares_result(trial.stage):
        return
    deviations = _deviations(records.get("check"))
    for record, of_rank in _rank_rows(trial, tasks, records, ("device",)):
        found = _only(record.result, Reconstruction)
        made = not trial.params.get("image")
        size_px = trial.params.get("size_px") if made else found and found.shape[-1]
        of_rank |= {"problem": trial.params.get("problem"), "size_px": size_px}
        if found is None or record.state == "failed":
            yield of_rank
            continue
        measured = of_rank | row_of(found) | deviations
        timed = zip(found.iterations, found.objectives_s, strict=True)
        for number, (iteration, objective_s) in enumerate(timed):
            told = {"iteration": number, "objective_s": objective_s}
            yield measured | told | row_of(iteration)


def _only(result: TaskResult | None, kind: type[AnySample]) -> AnySample | None:
    """The sample of a kind of which a rank has one; None where it measured nothing."""
    return next(iter(result.of(kind)), None) if result is not None else None


def _ran_out_of_memory(error: TaskError | None) -> bool:
    """Whether a rank's own memory ran out."""
    if error is None:
        return False
    # A full disk exhausts a resource too.
    by_itself = error.kind == ResourceExhausted.__name__ and "memory" in error.message
    return by_itself or error.kind == MEMORY_LIMIT


def _deviations(check: TaskRecord | None) -> dict[str, float | None]:
    """How far the image is from that of the fewest ranks, where the two were compared."""
    result = check.result if check is not None else None
    agreement = result.agreement if result is not None else None
    told = agreement.details if agreement is not None else {}
    return {
        "deviation_interior": told.get("interior_deviation"),
        "deviation_border": told.get("border_deviation"),
    }


def loading_schema() -> Schema:
    """Columns of the table of loading, one row a rank of a trial, as docs/columns.md has them.

    A rank that failed has its error, and null in all that was to be measured.
    """
    planned = columns((pl.List(WHOLE), "cpus"), (TEXT, "cache_asked cache_state"))
    return rank_schema() | planned | setting_columns() | schema_of(Loading)


def loading_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not has_own_work(trial.stage):
        return
    for record, of_rank in _rank_rows(trial, tasks, records, ("cache_asked", "cache_state")):
        measured = row_of(_only(record.result, Loading))
        if measured.get("free_cache") is not None:
            # What was evicted for the window is cold in it, whatever was asked for before.
            of_rank |= {"cache_asked": "cold", "cache_state": measured["free_cache"]}
        yield {
            **measured,
            **of_rank,
            "cpus": list(record.launch.cpus) if record.launch else None,
            # As the user wrote them: a factory is not told by where it was found.
            **{name: trial.params.get(name) for name in SETTINGS},
        }
