"""The tidy tables of a run, rebuilt from the records at any time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pyscale.analysis.lanes import on_one_clock, with_lanes
from pyscale.store.columns import call_schema, span_schema, task_schema, timing_schema
from pyscale.store.folder import RunFolder
from pyscale.store.loadingtable import loading_schema
from pyscale.store.reconstructiontable import reconstruction_schema
from pyscale.store.rows import Rows, trial_rows
from pyscale.store.sources import Sources
from pyscale.store.taskfiles import RecordError, read_task
from pyscale_stages.atomic import atomic_path
from pyscale_stages.parquet import write_table

TASKS_FILE = "tasks.parquet"
SPANS_FILE = "spans.parquet"
CALLS_FILE = "calls.parquet"
TIMINGS_FILE = "timings.parquet"
LOADING_FILE = "loading.parquet"
RECONSTRUCTION_FILE = "reconstruction.parquet"


@dataclass(frozen=True)
class Tables:
    """What the records of a run tell, each of them read once.

    Attributes
    ----------
    tasks, spans, calls, timings, loading, reconstruction : polars.DataFrame
        One row a task, one a phase of a task, one a part of a call, one a repeat of a test of the
        machine, one a rank that loaded patches, one an iteration of a rank that reconstructed an
        image with others; the columns are those of `task_schema`, `span_schema`, `call_schema`,
        `timing_schema`, `loading_schema` and `reconstruction_schema`. The times of all nodes are
        on one clock, as far as that is known, and every window's task has its lane: which of the
        N workers did it.
    sources : Sources
        What the manifest is made from.
    """

    tasks: pl.DataFrame
    spans: pl.DataFrame
    calls: pl.DataFrame
    timings: pl.DataFrame
    loading: pl.DataFrame
    reconstruction: pl.DataFrame
    sources: Sources


def build_tables(run: RunFolder) -> Tables:
    """Tables of all that the tasks which have a record tell.

    A trial with a record that cannot be read is left out; `Sources.unreadable` says why.
    """
    sources = Sources()
    by_trial: dict[str, Rows] = {}
    for trial in run.plan.trials:
        try:
            records = {task: read_task(run.task(trial, task)) for task in trial.tasks}
            by_trial[trial.id] = trial_rows(run, trial, records)
        except RecordError as error:
            # Half of a trial would be taken for all of it.
            sources.leave_out(run, trial, error)
            by_trial[trial.id] = Rows([], [], [], [], [], [])
            continue
        for task, record in records.items():
            sources.add(run, trial, task, record)
    ordered = [by_trial[t.id] for t in sorted(run.plan.trials, key=run.plan.place_in_pipeline)]
    tasks, spans = on_one_clock(
        pl.DataFrame([row for rows in ordered for row in rows.tasks], task_schema(), orient="row"),
        pl.DataFrame([row for rows in ordered for row in rows.spans], span_schema(), orient="row"),
    )
    first_submit = pl.col("submit_utc").min().over("trial")
    return Tables(
        tasks=_with_waits(with_lanes(tasks)).with_columns(
            position=first_submit.rank("dense").cast(pl.Int64) - 1,
            cores_used=pl.col("cpu_s") / pl.col("wall_s"),
            memory_used_share=pl.col("peak_rss_bytes") / pl.col("requested_memory_bytes"),
        ),
        spans=spans,
        calls=pl.DataFrame(
            [row for rows in ordered for row in rows.calls], call_schema(), orient="row"
        ),
        timings=pl.DataFrame(
            [row for rows in ordered for row in rows.timings], timing_schema(), orient="row"
        ),
        loading=pl.DataFrame(
            [row for rows in ordered for row in rows.loading], loading_schema(), orient="row"
        ),
        reconstruction=pl.DataFrame(
            [row for rows in ordered for row in rows.reconstruction],
            reconstruction_schema(),
            orient="row",
        ),
        sources=sources,
    )


def _with_waits(tasks: pl.DataFrame) -> pl.DataFrame:
    """Tasks with their time in the queue, less that in which others of the run held them back.

    What was submitted together waits for the end of all that was submitted before.
    """
    step = pl.when(pl.col("verb") != "run").then("task")
    freed = (
        tasks.drop_nulls("submit_utc")
        .group_by("trial", step=step)
        .agg(pl.col("submit_utc").min(), freed_utc=pl.col("end_utc").max())
        .sort("submit_utc")
        .with_columns(pl.col("freed_utc").cum_max().forward_fill().shift(1))
        .drop("submit_utc")
    )
    held = pl.when(pl.col("freed_utc") <= pl.col("begin_utc")).then("freed_utc")
    waited = pl.col("begin_utc") - pl.max_horizontal("submit_utc", held)
    return (
        tasks.with_columns(step=step)
        .join(freed, ["trial", "step"], "left", nulls_equal=True, maintain_order="left")
        .with_columns(queue_s=waited.dt.total_microseconds() / 1e6)
        .drop("step", "freed_utc")
    )


def write_tables(folder: Path, tables: Tables) -> None:
    """Write the tables as Parquet into a folder; the rare ones where there are any."""
    always = {TASKS_FILE: tables.tasks, SPANS_FILE: tables.spans}
    rare = {
        CALLS_FILE: tables.calls,
        TIMINGS_FILE: tables.timings,
        LOADING_FILE: tables.loading,
        RECONSTRUCTION_FILE: tables.reconstruction,
    }
    for name, table in (always | rare).items():
        if name in rare and table.is_empty():
            # One of an earlier state of the run would be taken for what it is now.
            (folder / name).unlink(missing_ok=True)
            continue
        with atomic_path(folder / name) as temporary:
            write_table(temporary, table)
