"""Rows of the tidy tables, from the records of one trial."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pyscale.analysis.lanes import most_at_once
from pyscale.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.records import LaunchRecord, TaskOrder, TaskRecord
from pyscale.store.taskfiles import read_cache, read_node, read_surroundings, read_task
from pyscale_stages.contract import TaskResult

Row = dict[str, Any]


def trial_rows(run: RunFolder, trial: Trial) -> tuple[list[Row], list[Row]]:
    """Rows of the tasks of a trial that have ended, and rows of their spans.

    All times are as the nodes told them.
    """
    attempts = run.attempts(trial)
    tasks: list[Row] = []
    spans: list[Row] = []
    for task in trial.tasks:
        record = read_task(run.task(trial, task))
        if record.state in {"done", "failed"}:
            header = _header(run, trial, task) | {"attempt": attempts}
            tasks.append(header | _columns(trial, record))
            spans += _spans(trial, task, record.result)
    _add_what_nodes_were_like(run, trial, tasks)
    return tasks, spans


def _header(run: RunFolder, trial: Trial, task: str) -> Row:
    return {
        "trial": trial.id,
        "suite": run.plan.suite.name,
        "stage": trial.entry,
        "workers": trial.workers,
        "windows": len(trial.windows),
        "block": trial.block,
        "task": task,
        "verb": task if task in {"merge", "check"} else "run",
        "device": trial.device,
        "quality": "{}",
        "image": trial.image,
    }


def _columns(trial: Trial, record: TaskRecord) -> Row:
    return {
        "status": record.state,
        "error": record.error.message if record.error else None,
        **(_order_columns(record.order) if record.order else {}),
        **(_launch_columns(record.launch) if record.launch else {}),
        **(_result_columns(trial, record.result) if record.result else {}),
    }


def _spans(trial: Trial, task: str, result: TaskResult | None) -> Iterator[Row]:
    for span in result.spans if result else ():
        yield {
            "trial": trial.id,
            "stage": trial.entry,
            "workers": trial.workers,
            "block": trial.block,
            "task": task,
            "phase": span.phase,
            "start_utc": span.start_utc,
            "wall_s": span.wall_s,
        }


def _add_what_nodes_were_like(run: RunFolder, trial: Trial, rows: list[Row]) -> None:
    """Say of each task how its node's page cache was prepared, and whether it had to share.

    A node's own record says so, else that of the trial: on its own machine pyscale itself
    prepares and looks around.
    """
    folder = run.trial(trial)
    nodes = defaultdict(list)
    for row in rows:
        if "node" in row:
            nodes[row["node"]].append(row)
    for node, there in nodes.items():
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
        threads = most_at_once(times) * int(run.plan.settings["cpus_per_worker"])
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
        "clock_offset_s": launch.clock.offset_s if launch.clock else None,
        "clock_error_s": launch.clock.error_s if launch.clock else None,
    }


def _result_columns(trial: Trial, result: TaskResult) -> Row:
    # Where nothing else is compared with the reference, its check is for its quality alone.
    agreement = result.agreement if trial.compared else None
    return {
        "wall_s": result.wall_s,
        "start_utc": result.start_utc,
        "end_utc": result.end_utc,
        **result.counters.model_dump(),
        "agreement": agreement.score if agreement else None,
        "agreement_same": agreement.same if agreement else None,
        "agreement_identical": agreement.identical if agreement else None,
        "agreement_measure": agreement.measure if agreement else None,
        "agreement_tolerance": agreement.tolerance if agreement else None,
        "quality": json.dumps(result.quality, sort_keys=True),
        "hardware": result.stamp.get("label"),
        "image_sha256": result.stamp.get("image_sha256"),
    }
