"""The tidy tables of a run, rebuilt from the records at any time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyscale.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.records import TaskRecord, read_cache, read_surroundings, read_task
from pyscale_stages.atomic import atomic_path
from pyscale_stages.contract import TaskResult
from pyscale_stages.parquet import write_table

if TYPE_CHECKING:
    import polars as pl

TASKS_FILE = "tasks.parquet"
SPANS_FILE = "spans.parquet"


def build_tables(run: RunFolder) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables of all tasks and of all spans that have a record.

    Returns
    -------
    tasks, spans : DataFrame
        One row a task, one row a span; the columns are those of `task_schema` and
        `span_schema`.
    """
    import polars as pl

    tasks: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for trial in sorted(run.plan.trials, key=partial(_place_in_report, run)):
        attempts = run.attempts(trial)
        for task, record in _finished(run, trial):
            tasks.append(_task_row(run, trial, task, record) | {"attempt": attempts})
            spans += _span_rows(trial, task, record)
    first_submit = pl.col("submit_utc").min().over("trial")
    return (
        pl.DataFrame(tasks, schema=task_schema(), orient="row").with_columns(
            position=first_submit.rank("dense").cast(pl.Int64) - 1
        ),
        pl.DataFrame(spans, schema=span_schema(), orient="row"),
    )


def write_tables(run: RunFolder, tasks: pl.DataFrame, spans: pl.DataFrame) -> None:
    """Write both tables as Parquet into the run folder."""
    for name, table in ((TASKS_FILE, tasks), (SPANS_FILE, spans)):
        with atomic_path(run.path / name) as temporary:
            write_table(temporary, table)


def task_schema() -> dict[str, pl.DataType]:
    """Columns of the table of tasks."""
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    time = pl.Datetime("us", "UTC")
    return {
        "trial": text,
        "suite": text,
        "stage": text,
        "workers": whole,
        "block": whole,
        "position": whole,
        "task": text,
        "verb": text,
        "status": text,
        "error": text,
        "device": text,
        "wall_s": real,
        "submit_utc": time,
        "start_utc": time,
        "end_utc": time,
        "queue_s": real,
        "node": text,
        "frames": whole,
        "objects": whole,
        "input_bytes": whole,
        "output_bytes": whole,
        "read_bytes": whole,
        "write_bytes": whole,
        "storage_read_bytes": whole,
        "cpu_s": real,
        "peak_rss_bytes": whole,
        "gpu_peak_bytes": whole,
        "gpu_mean_utilisation": real,
        "cache_state": text,
        "agreement": real,
        "agreement_same": flag,
        "agreement_identical": flag,
        "quality": text,
        "attempt": whole,
        "oversubscribed": flag,
        "disturbed": flag,
        "hardware": text,
        "image": text,
        "image_sha256": text,
    }


def span_schema() -> dict[str, pl.DataType]:
    """Columns of the table of spans."""
    import polars as pl

    return {
        "trial": pl.String(),
        "stage": pl.String(),
        "workers": pl.Int64(),
        "block": pl.Int64(),
        "task": pl.String(),
        "phase": pl.String(),
        "start_utc": pl.Datetime("us", "UTC"),
        "wall_s": pl.Float64(),
    }


def _place_in_report(run: RunFolder, trial: Trial) -> tuple[int, int, int]:
    """Order of the pipeline, not the random order in which trials ran."""
    return list(run.plan.suite.stages).index(trial.entry), trial.workers, trial.block


def _finished(run: RunFolder, trial: Trial) -> Iterator[tuple[str, TaskRecord]]:
    for task in trial.tasks:
        record = read_task(run.task(trial, task))
        if record.state in {"done", "failed"}:
            yield task, record


def _task_row(run: RunFolder, trial: Trial, task: str, record: TaskRecord) -> dict[str, Any]:
    cache = read_cache(run.trial(trial))
    launch, order = record.launch, record.order
    row: dict[str, Any] = {
        "trial": trial.id,
        "suite": run.plan.suite.name,
        "stage": trial.entry,
        "workers": trial.workers,
        "block": trial.block,
        "task": task,
        "verb": task if task in {"merge", "check"} else "run",
        "status": record.state,
        "error": record.error.message if record.error else None,
        "device": trial.device,
        "submit_utc": order.submit_utc if order else None,
        "queue_s": (launch.spawn_utc - order.submit_utc).total_seconds()
        if launch and order
        else None,
        "node": launch.node if launch else None,
        # What a merge or check reads was written just before.
        "cache_state": cache.state if cache and task in trial.window_tasks else None,
        "quality": "{}",
        "oversubscribed": order.oversubscribed if order else False,
        "disturbed": _disturbed(run, trial, launch.node) if launch else None,
        "image": trial.image,
    }
    return row | (_result_columns(record.result) if record.result else {})


def _disturbed(run: RunFolder, trial: Trial, node: str) -> bool | None:
    """Whether other work ran around the trial; None where nobody looked at its node."""
    surroundings = read_surroundings(run.trial(trial))
    if surroundings is None or surroundings.start.node != node:
        return None
    return surroundings.disturb(trial.workers * int(run.plan.settings["cpus_per_worker"]))


def _result_columns(result: TaskResult) -> dict[str, Any]:
    agreement = result.agreement
    return {
        "wall_s": result.wall_s,
        "start_utc": result.start_utc,
        "end_utc": result.end_utc,
        **result.counters.model_dump(),
        "agreement": agreement.score if agreement else None,
        "agreement_same": agreement.same if agreement else None,
        "agreement_identical": agreement.identical if agreement else None,
        "quality": json.dumps(result.quality, sort_keys=True),
        "hardware": result.stamp.get("label"),
        "image_sha256": result.stamp.get("image_sha256"),
    }


def _span_rows(trial: Trial, task: str, record: TaskRecord) -> Iterator[dict[str, Any]]:
    spans = record.result.spans if record.result else ()
    for span in spans:
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
