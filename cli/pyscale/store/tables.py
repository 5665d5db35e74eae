"""The tidy tables of a run, rebuilt from the records at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.clocks import on_one_clock
from pyscale.analysis.lanes import with_lanes
from pyscale.store.columns import span_schema, task_schema
from pyscale.store.folder import RunFolder
from pyscale.store.rows import trial_rows
from pyscale_stages.atomic import atomic_path
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
        `span_schema`. The times of all nodes are on one clock, as far as that is known, and
        every window's task has its lane: which of the N workers did it.
    """
    import polars as pl

    tasks: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for trial in sorted(run.plan.trials, key=run.plan.place_in_pipeline):
        own_tasks, own_spans = trial_rows(run, trial)
        tasks += own_tasks
        spans += own_spans
    corrected, corrected_spans = on_one_clock(
        pl.DataFrame(tasks, schema=task_schema(), orient="row"),
        pl.DataFrame(spans, schema=span_schema(), orient="row"),
    )
    first_submit = pl.col("submit_utc").min().over("trial")
    waited = pl.col("begin_utc") - pl.col("submit_utc")
    return (
        with_lanes(corrected).with_columns(
            position=first_submit.rank("dense").cast(pl.Int64) - 1,
            queue_s=waited.dt.total_microseconds() / 1e6,
            cores_used=pl.col("cpu_s") / pl.col("wall_s"),
            memory_used_share=pl.col("peak_rss_bytes") / pl.col("requested_memory_bytes"),
        ),
        corrected_spans,
    )


def write_tables(run: RunFolder, tasks: pl.DataFrame, spans: pl.DataFrame) -> None:
    """Write both tables as Parquet into the run folder."""
    for name, table in ((TASKS_FILE, tasks), (SPANS_FILE, spans)):
        with atomic_path(run.path / name) as temporary:
            write_table(temporary, table)
