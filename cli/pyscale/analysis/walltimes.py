"""Trials from a plain table of wall times that were measured elsewhere."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.declared import FLAG, REAL, TEXT, TEXTS, TIME, WHOLE, columns
from pyscale.analysis.doubts import in_a_row, rounded_to
from pyscale.analysis.trials import TIMING_COLUMNS
from pyscale.analysis.workers import seconds, sum_if_all

TIMES = ("slowest_s", "shortest_s", "busy_s")
TOLD = (
    *("work", "requested_cpus", "requested_gpus", "cores_used"),
    *("requested_memory_bytes", "peak_rss_bytes", "nodes", "clocks_disagree"),
    *("mean_task_s", "sd_task_s", "longest_task_s", "start_stagger_s", "overlap"),
)
OF_STAGES = ("rounded_to_s", "in_a_row")
MEASURED = {*TIMES, *TOLD, "wall_s", "idle_s"}
"""Columns of a trial that a table may fill."""
_KINDS = columns(
    (WHOLE, "repeat block tasks tasks_done cpus gpus requested_memory_bytes peak_memory_bytes"),
    (REAL, "mean_task_s sd_task_s cpu_s work"),
    (TEXT, "task node"),
    (TIME, "start end"),
)
"""Columns that a table may have beside `stage`, `workers` and `wall_s`."""
_NOT_MEASURED = columns(
    (REAL, " ".join(name for name in TIMING_COLUMNS if name not in MEASURED)),
    (REAL, "agreement agreement_tolerance"),
    (WHOLE, "windows input_bytes input_files"),
    (TEXT, "cache_asked cache_state agreement_measure quality warned"),
    (FLAG, "oversubscribed disturbed check_failed agreement_same agreement_identical"),
    (TEXTS, "hardware"),
)
"""Columns of a trial that a table of wall times cannot fill."""


def trials_from_wall_times(table: pl.DataFrame, suite: str = "table") -> pl.DataFrame:
    """Shape published wall times as trials, so that the same analysis serves them.

    Three kinds of rows may be mixed. With `task`, a row is one task, and a trial is the tasks of
    one stage, worker count and repeat. With `mean_task_s`, a row is one trial of which the mean
    over its `tasks` is known too. With neither, a row is one trial of which only the wall time is
    known; with one worker this is its task's time as well. Whole-task times give the load balance
    and `sum t(N0) / sum t(N)`; no phases are known.

    What stands in the columns beside (see `_KINDS`) is of the task where a row is one, and else of
    the whole trial: its N workers share `cpus` and `gpus` evenly, and of its memory nothing is
    known of one worker. Repeats are numbered by `repeat`, else by `block`, else 0. Where every
    trial has a start, these give the order of execution. What was not measured is null.
    """
    given = table
    table = table.with_columns(
        pl.lit(None, dtype=dtype).alias(column)
        for column, dtype in _KINDS.items()
        if column not in table.columns
    ).with_columns(
        pl.coalesce("repeat", "block", 0).alias("repeat"),
        # Whether the row is what one worker did.
        _is_worker=pl.col("task").is_not_null() | (pl.col("workers") == 1),
    )

    is_task = pl.col("task").is_not_null()
    sum_of_tasks_s = (
        pl.when(is_task | (pl.col("workers") == 1) & pl.col("mean_task_s").is_null())
        .then("wall_s")
        .otherwise(pl.col("mean_task_s") * pl.col("tasks").fill_null(pl.col("workers")))
    )
    trials = (
        table.with_columns(sum_of_tasks_s=sum_of_tasks_s, _size=pl.col("workers"))
        .group_by("stage", "workers", "repeat", maintain_order=True)
        .agg(
            slowest_s=pl.col("wall_s").max(),
            shortest_s=pl.when(is_task.all()).then(pl.col("wall_s").min()),
            busy_s=sum_if_all(pl.col("sum_of_tasks_s")),
            **_told_beside(),
        )
    )
    ordered = pl.col("start").null_count() == 0
    of_stages = _doubts_of_stages(trials, by_block=is_interleaved(given))
    return trials.join(of_stages, on="stage", how="left", maintain_order="left").select(
        suite=pl.lit(suite),
        stage="stage",
        device=pl.lit(None, dtype=pl.String),
        workers=pl.col("workers").cast(pl.Int64),
        trial=pl.format("{}/{}/{}", "stage", "workers", "repeat"),
        block="repeat",
        position=pl.when(ordered).then(pl.col("start").rank("ordinal").cast(pl.Int64) - 1),
        # A table tells no merge apart: a trial is as long as its longest row.
        wall_s="slowest_s",
        idle_s=pl.col("workers") * pl.col("slowest_s") - pl.col("busy_s"),
        attempt=pl.lit(1, dtype=pl.Int64),
        failed=pl.lit(False),
        complete=pl.lit(True),
        valid=pl.lit(True),
        **{column: pl.col(column) for column in (*TIMES, *TOLD, *OF_STAGES)},
        **{name: pl.lit(None, dtype=kind) for name, kind in _NOT_MEASURED.items()},
    )


def is_interleaved(table: pl.DataFrame) -> bool:
    """Whether a table says which of its trials ran close together in time: it has blocks."""
    return "block" in table.columns


def _doubts_of_stages(trials: pl.DataFrame, *, by_block: bool) -> pl.DataFrame:
    """Step to which the times of each stage are rounded, and whether each N was timed in a row."""
    rows = []
    for (stage,), own in trials.group_by("stage", maintain_order=True):
        dated = own["start"].null_count() == 0
        # Without dates the order of the rows is all there is, but blocks say that N were mixed.
        counts = (own.sort("start", maintain_order=True) if dated else own)["workers"].to_list()
        rows.append(
            {
                "stage": stage,
                "rounded_to_s": rounded_to(own["slowest_s"].to_list()),
                "in_a_row": in_a_row(counts) and (dated or not by_block),
            }
        )
    kinds = columns((TEXT, "stage"), (REAL, "rounded_to_s"), (FLAG, "in_a_row"))
    return pl.DataFrame(rows, schema=kinds)


def _told_beside() -> dict[str, pl.Expr]:
    """Columns of a trial, from those that stand beside the wall times of its rows."""
    start, end, wall_s = pl.col("start"), pl.col("end"), pl.col("wall_s")
    size, apart = pl.col("_size").first(), pl.col("_is_worker").all()
    # Where times of tasks are unknown, each worker is taken to be busy until the slowest ends.
    busy_s = pl.coalesce(sum_if_all(pl.col("sum_of_tasks_s")), size * wall_s.max())
    # Several tasks of one worker have times between them that nothing tells.
    one_each = (pl.col("tasks_done").fill_null(1) == 1).all()
    in_turn = (pl.col("tasks").fill_null(pl.col("_size")) > pl.col("_size")).any()
    dated = apart & (start.null_count() == 0)
    together_s = seconds(end.min() - start.max()).clip(0.0)
    lasting = dated & one_each & (end.null_count() == 0)
    nodes = pl.col("node").str.extract_all(r"[^,\s]+")
    # Slurm writes many nodes as `n[01-04]`.
    is_list = pl.col("node").str.contains("[", literal=True)
    named = (pl.col("node").null_count() == 0) & ~is_list.any()
    return {
        "work": sum_if_all(pl.col("work")),
        "requested_cpus": _of_one_worker("cpus"),
        "requested_gpus": _of_one_worker("gpus"),
        "cores_used": sum_if_all(pl.col("cpu_s")) / busy_s,
        "requested_memory_bytes": pl.when(apart).then(pl.col("requested_memory_bytes").max()),
        "peak_rss_bytes": pl.when(apart).then(pl.col("peak_memory_bytes").max()),
        "nodes": pl.when(named).then(nodes.explode().n_unique().cast(pl.Int64)),
        # The dates of a table are taken to be of one clock.
        "clocks_disagree": pl.lit(value=False),
        "mean_task_s": pl.coalesce(
            pl.col("mean_task_s").first(), pl.when(apart & one_each).then(wall_s.mean())
        ),
        "sd_task_s": pl.coalesce(
            pl.col("sd_task_s").first(), pl.when(apart & one_each).then(wall_s.std())
        ),
        "longest_task_s": pl.when(one_each & ~in_turn).then(wall_s.max()),
        "start_stagger_s": pl.when(dated).then(seconds(start.max() - start.min())),
        "overlap": pl.when(lasting).then((together_s / wall_s.max()).clip(0.0, 1.0)),
        "start": pl.when(start.null_count() == 0).then(start.min()),
    }


def _of_one_worker(column: str) -> pl.Expr:
    """Share of each worker; null where it differed between them."""
    value, size = pl.col(column), pl.col("_size")
    shared = pl.when(value % size == 0).then(value // size)
    own = pl.when("_is_worker").then(value).otherwise(shared)
    return pl.when(own.null_count() == 0, own.n_unique() == 1).then(own.first())
