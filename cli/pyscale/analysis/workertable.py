"""One row per worker of a trial: what it spent in each phase, and how long it waited for a core."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.phasesums import PHASE_COLUMNS, phase_sums
from pyscale.analysis.trials import sum_if_all


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

        trial, lane, workers
            Which worker; `workers` is the N of its trial.
        wall_s : float
            t_i, the sum over its windows.
        phase_*_s, unattributed_s : float
            Its parts: they sum to `wall_s`.
        cpu_s, cpu_wait_s : float
            Processor time, and time in which its threads were ready and had no core, summed over
            threads; null where any window's is not known.
    """
    windows = tasks.filter(
        pl.col("attempt") == pl.col("attempt").max().over("trial", "task"),
        pl.col("verb") == "run",
        pl.col("lane").is_not_null(),
    )
    one = ("trial", "lane")
    return (
        windows.group_by(one, maintain_order=True)
        .agg(
            pl.col("workers").first(),
            pl.col("wall_s").sum(),
            cpu_s=sum_if_all(pl.col("cpu_s")),
            cpu_wait_s=sum_if_all(pl.col("cpu_wait_s")),
        )
        .join(phase_sums(spans, windows, one), on=one, how="left", maintain_order="left")
        .with_columns(pl.col(PHASE_COLUMNS).fill_null(0.0))
        .with_columns(unattributed_s=pl.col("wall_s") - pl.sum_horizontal(PHASE_COLUMNS))
    )
