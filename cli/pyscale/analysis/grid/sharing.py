"""Several workers at once at one point of a grid: how much more they do than one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.grid.samples import Measure
from pyscale.analysis.intervals import ratio_interval_by_block

if TYPE_CHECKING:
    import polars as pl


def sharing(points: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Compare the throughput of N workers with that of one, at every point that has both.

    Their calls are not lined up in time: where a flag of the point says that workers ran together
    for less than half of their time, they shared less than N at once would.

    Parameters
    ----------
    points, times : polars.DataFrame
        As `grid_points` and `samples` give them.

    Returns
    -------
    polars.DataFrame
        One row for each point and N above 1, in the order of `points`; columns of
        `sharing_schema`. Steady calls count; where a point has none, first ones.
    """
    import polars as pl

    rows = []
    for own in points.filter(pl.col("workers") > 1).iter_rows(named=True):
        alone = points.filter(stage=own["stage"], workers=1)
        measure: Measure = "first" if own["steady_s"] is None else "steady"
        if alone.is_empty() or None in (own[f"{measure}_s"], alone[f"{measure}_s"][0]):
            continue
        workers = own["workers"]
        one = times.filter(stage=own["stage"], measure=measure)
        before, after = one.filter(workers=1), one.filter(workers=workers)
        interval = ratio_interval_by_block(before, after, "time_s")
        gain = workers * alone[f"{measure}_s"][0] / own[f"{measure}_s"]
        rows.append(
            {key: own[key] for key in sharing_schema() if key in own}
            | {
                "measure": measure,
                "one_mp_s": own["throughput_mp_s"] / gain,
                "gain": gain,
                "gain_low": workers * interval.low if interval else None,
                "gain_high": workers * interval.high if interval else None,
                "efficiency": gain / workers,
            }
        )
    return pl.DataFrame(rows, schema=sharing_schema())


def sharing_schema() -> dict[str, Any]:
    """Columns of `sharing`.

    suite, family, stage, series, value, device, gpu_sharing : str
        As in `point_schema`: `gpu_sharing` says whether each worker had its own GPU (own) or all
        shared one (time_slicing, mps).
    workers, pixels : int
        N, above 1.
    megapixels, length_px : float
    measure : str
        steady or first.
    throughput_mp_s, one_mp_s : float
        Megapixels per second of N workers together, and of one.
    gain, gain_low, gain_high : float
        Their ratio, and its 95 % bootstrap interval; null where either has too few trials.
    efficiency : float
        gain / N.
    invalid : bool
        Whether N workers did other work than one.
    """
    import polars as pl

    number = pl.Float64
    return {
        **dict.fromkeys(("suite", "family", "stage", "series", "value"), pl.String),
        **dict.fromkeys(("device", "gpu_sharing"), pl.String),
        **dict.fromkeys(("workers", "pixels"), pl.Int64),
        **dict.fromkeys(("megapixels", "length_px"), number),
        "measure": pl.String,
        **dict.fromkeys(("throughput_mp_s", "one_mp_s"), number),
        **dict.fromkeys(("gain", "gain_low", "gain_high", "efficiency"), number),
        "invalid": pl.Boolean,
    }
