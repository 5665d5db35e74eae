"""Rows of the tidy tables, from the records of one trial."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyscale.analysis.declared import row_of
from pyscale.analysis.workers import most_at_once
from pyscale.planning.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.ranktables import loading_rows, reconstruction_rows
from pyscale.store.records import LaunchRecord, TaskOrder, TaskRecord
from pyscale.store.taskfiles import read_cache, read_node, read_surroundings
from pyscale_stages.contract import Agreement, TaskResult
from pyscale_stages.measure.mounts import UNKNOWN
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
