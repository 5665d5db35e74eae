"""The tidy tables of a run: their columns, and all of them rebuilt from the records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pyscale.analysis.declared import FLAG, REAL, TEXT, TIME, WHOLE, Schema, columns, schema_of
from pyscale.analysis.workers import with_lanes
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import Sources
from pyscale.store.rows import Rows, loading_schema, reconstruction_schema, trial_rows
from pyscale.store.taskfiles import RecordError, read_task
from pyscale_stages.atomic import atomic_path
from pyscale_stages.contract import Counters
from pyscale_stages.measured import Measured
from pyscale_stages.parquet import write_table
from pyscale_stages.timing import Timing


def task_schema() -> Schema:
    """Columns of the table of tasks, as docs/columns.md has them; what is not known is null."""
    planned = columns(
        (TEXT, "trial suite stage"),
        (WHOLE, "workers windows"),
        (FLAG, "joins"),
        (WHOLE, "block position"),
        (TEXT, "task verb"),
        (WHOLE, "lane"),
        (TEXT, "status error device family point"),
        (WHOLE, "threads"),
        (REAL, "wall_s"),
        (TIME, "submit_utc begin_utc start_utc end_utc"),
        (REAL, "queue_s prepare_s"),
        (TEXT, "node job_id"),
    )
    return (
        planned
        | schema_of(Counters)
        | columns(
            (REAL, "cores_used memory_used_share"),
            (WHOLE, "requested_cpus requested_memory_bytes requested_time_s requested_gpus"),
            (TEXT, "cache_asked cache_state input_storage"),
            (REAL, "agreement"),
            (FLAG, "agreement_same agreement_identical"),
            (TEXT, "agreement_measure"),
            (REAL, "agreement_tolerance"),
            (TEXT, "quality beside_trial"),
            (REAL, "beside_agreement beside_tolerance"),
            (TEXT, "beside_measure"),
            (FLAG, "beside_identical"),
            (TEXT, "beside_details"),
            (WHOLE, "attempt"),
            (FLAG, "oversubscribed disturbed"),
            (TEXT, "hardware image image_sha256 warned"),
        )
    )


def span_schema() -> Schema:
    """Columns of the table of spans, one row a phase of a task; times as in the table of tasks."""
    return columns(
        (TEXT, "trial stage"),
        (WHOLE, "workers block"),
        (TEXT, "task phase"),
        (TIME, "start_utc"),
        (REAL, "wall_s"),
    )


def call_schema() -> Schema:
    """Columns of the table of calls, one row a part of a call."""
    return columns(
        (TEXT, "trial stage family"),
        (WHOLE, "workers block"),
        (TEXT, "task"),
        (WHOLE, "frame call pixels"),
        (TEXT, "part"),
        (REAL, "wall_s"),
        (WHOLE, "objects"),
    )


def timing_schema() -> Schema:
    """Columns of the table of timings, one row a repeat of a test of the machine or of its step."""
    header = columns(
        (TEXT, "trial stage kind suite"), (WHOLE, "workers block"), (TEXT, "task node hardware")
    )
    return header | schema_of(Timing)


def measure_schema() -> Schema:
    """Columns of the table of measures, one row a number that a task measured."""
    header = columns((TEXT, "trial stage"), (WHOLE, "workers block"), (TEXT, "task verb"))
    return header | schema_of(Measured)


TABLES: dict[str, tuple[str, Callable[[], Schema]]] = {
    "tasks": ("Tasks that ended, one row a task", task_schema),
    "spans": ("Phases of all tasks, one row a phase", span_schema),
    "calls": (
        "Calls that tasks timed one by one, one row a call and one a part of it",
        call_schema,
    ),
    "timings": ("Tests of the machine, one row a repeat of a test or of its step", timing_schema),
    "loading": ("Loading of patches, one row a rank of a trial", loading_schema),
    "reconstruction": (
        "Reconstruction over ranks, one row a timed iteration of a rank",
        reconstruction_schema,
    ),
    "measures": ("Numbers that stages measured of their work, one row a number", measure_schema),
}
"""What each table of a run holds, and its columns; see docs/columns.md."""
FILES = {name: f"{name}.parquet" for name in TABLES}


@dataclass(frozen=True)
class Tables:
    """What the records of a run tell, each of them read once, in the tables of `TABLES`.

    The times of all nodes are on one clock, as far as that is known, and every window's task has
    its lane: which of the N workers did it.
    """

    tasks: pl.DataFrame
    spans: pl.DataFrame
    calls: pl.DataFrame
    timings: pl.DataFrame
    loading: pl.DataFrame
    reconstruction: pl.DataFrame
    measures: pl.DataFrame
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
            by_trial[trial.id] = defaultdict(list)
            continue
        for task, record in records.items():
            sources.add(run, trial, task, record)
    ordered = [by_trial[t.id] for t in sorted(run.plan.trials, key=run.plan.place_in_pipeline)]
    frames = {
        name: pl.DataFrame([row for rows in ordered for row in rows[name]], schema(), orient="row")
        for name, (_, schema) in TABLES.items()
    }
    first_submit = pl.col("submit_utc").min().over("trial")
    return Tables(
        tasks=_with_waits(with_lanes(frames.pop("tasks"))).with_columns(
            position=first_submit.rank("dense").cast(pl.Int64) - 1,
            cores_used=pl.col("cpu_s") / pl.col("wall_s"),
            memory_used_share=pl.col("peak_rss_bytes") / pl.col("requested_memory_bytes"),
        ),
        **frames,
        sources=sources,
    )


def _with_waits(tasks: pl.DataFrame) -> pl.DataFrame:
    """Tasks with their time in the queue, less that in which others of the run held them back."""
    # Null for windows, all of which are submitted together.
    step = pl.when(pl.col("verb") != "run").then("task")
    freed = (
        tasks.drop_nulls("submit_utc")
        .group_by("trial", step=step)
        .agg(pl.col("submit_utc").min(), freed_utc=pl.col("end_utc").max())
        .sort("submit_utc")
        # What was submitted together waits for the end of all that was submitted before.
        .with_columns(pl.col("freed_utc").cum_max().forward_fill().shift(1))
        .drop("submit_utc")
    )
    # What began before the others had ended was not held back by them.
    held = pl.when(pl.col("freed_utc") <= pl.col("begin_utc")).then("freed_utc")
    waited = pl.col("begin_utc") - pl.max_horizontal("submit_utc", held)
    return (
        tasks.with_columns(step=step)
        .join(freed, ["trial", "step"], "left", nulls_equal=True, maintain_order="left")
        .with_columns(queue_s=waited.dt.total_microseconds() / 1e6)
        .drop("step", "freed_utc")
    )


def read_table(folder: Path, name: str) -> pl.DataFrame:
    """A table that was written into a folder, where it had any rows."""
    path = folder / FILES[name]
    if path.exists():
        # The folder's name may hold what would be a pattern.
        return pl.read_parquet(path, glob=False)
    return pl.DataFrame(schema=TABLES[name][1]())


def write_tables(folder: Path, tables: Tables) -> None:
    """Write the tables as Parquet into a folder; the rare ones where there are any."""
    for name, file in FILES.items():
        table = getattr(tables, name)
        if name not in {"tasks", "spans"} and table.is_empty():
            # One of an earlier state of the run would be taken for what it is now.
            (folder / file).unlink(missing_ok=True)
            continue
        with atomic_path(folder / file) as temporary:
            write_table(temporary, table)
