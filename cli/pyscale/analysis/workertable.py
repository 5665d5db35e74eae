"""One row per worker of a trial: what it spent in each phase, and how long it waited for a core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.trials import TASK_PHASES

if TYPE_CHECKING:
    import polars as pl


def worker_table(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Sum up the windows of each worker.

    Parameters
    ----------
    tasks : polars.DataFrame
        One row per finished task; every window's task with its lane. Merges and checks are left
        out: they are no worker's.
    spans : polars.DataFrame
        One row per span of these tasks: `trial`, `task`, `phase`, `wall_s`.

    Returns
    -------
    polars.DataFrame
        One row per trial and lane, in the order of `tasks`:

        suite, stage, device, workers, block, trial, lane
            Which worker; `workers` is the N of its trial.
        node : str
            Where it ran; null where its windows ran on several.
        wall_s : float
            t_i, the sum over its windows.
        phase_*_s, unattributed_s : float
            Its parts: they sum to `wall_s`.
        cpu_s, cpu_wait_s : float
            Processor time, and time in which its threads were ready and had no core, summed over
            threads; null where any window's is not known.
        frames : int
    """
    import polars as pl

    windows = tasks.filter(
        pl.col("attempt") == pl.col("attempt").max().over("trial", "task"),
        pl.col("verb") == "run",
        pl.col("lane").is_not_null(),
    )
    one = ("trial", "lane")
    parts = [f"phase_{phase}_s" for phase in TASK_PHASES]
    # A column for each phase, then plain sums: polars does these far faster than filtered ones.
    phase_sums = (
        spans.select("trial", "task", "phase", "wall_s")
        .join(windows.select("trial", "task", "lane"), on=("trial", "task"))
        .select(
            *one,
            *(
                pl.when(pl.col("phase") == phase).then("wall_s").otherwise(0.0).alias(part)
                for phase, part in zip(TASK_PHASES, parts, strict=True)
            ),
        )
        .group_by(one)
        .agg(pl.col(parts).sum())
    )
    summed = ("wall_s", "cpu_s", "cpu_wait_s", "frames")
    known = {name: pl.col(name).is_not_null().all() for name in ("cpu_s", "cpu_wait_s")}
    return (
        windows.group_by(one, maintain_order=True)
        .agg(
            pl.col("suite", "stage", "device", "workers", "block", "node").first(),
            pl.col(summed).sum(),
            **{f"_{name}_known": is_known for name, is_known in known.items()},
            _nodes=pl.col("node").n_unique(),
        )
        .join(phase_sums, on=one, how="left", maintain_order="left")
        .with_columns(pl.col(parts).fill_null(0.0))
        .select(
            *("suite", "stage", "device", "workers", "block", *one),
            pl.when(pl.col("_nodes") == 1).then("node").alias("node"),
            "wall_s",
            *parts,
            unattributed_s=pl.col("wall_s") - pl.sum_horizontal(parts),
            **{name: pl.when(f"_{name}_known").then(name) for name in known},
            frames="frames",
        )
    )
