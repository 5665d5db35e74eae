"""One value of versus against its base at each size: how many times as fast, and how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.grid.samples import COMPARED
from pyscale.analysis.intervals import ratio_interval_by_block

if TYPE_CHECKING:
    import polars as pl


def ratios(points: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Compare every point with its base: base time / own time, so that above 1 it is faster.

    Parameters
    ----------
    points : polars.DataFrame
        As `grid_points` gives them.
    times : polars.DataFrame
        As `pyscale.analysis.grid.samples.samples` gives them.

    Returns
    -------
    polars.DataFrame
        One row for each point with a base, N and measure of `samples.COMPARED` that both have; in
        the order of `points`. Columns of `ratio_schema`.
    """
    import polars as pl

    rows = []
    for own in points.drop_nulls("base_stage").iter_rows(named=True):
        base = points.filter(stage=own["base_stage"], workers=own["workers"])
        if base.is_empty():
            continue
        for measure in COMPARED:
            base_s, own_s = base[f"{measure}_s"][0], own[f"{measure}_s"]
            if base_s is None or own_s is None:
                continue
            one = times.filter(workers=own["workers"], measure=measure)
            there, here = one.filter(stage=own["base_stage"]), one.filter(stage=own["stage"])
            interval = ratio_interval_by_block(there, here, "time_s")
            rows.append(
                {key: own[key] for key in ratio_schema() if key in own}
                | {
                    "measure": measure,
                    "base_s": base_s,
                    "value_s": own_s,
                    "ratio": base_s / own_s,
                    "ratio_low": interval.low if interval else None,
                    "ratio_high": interval.high if interval else None,
                    "trials": min(there.height, here.height),
                    "invalid": own["invalid"] or base["invalid"][0],
                }
            )
    return pl.DataFrame(rows, schema=ratio_schema())


def ratio_schema() -> dict[str, Any]:
    """Columns of `ratios`.

    suite, family, series, value, base : str
        As in `point_schema`.
    workers : int
    measure : str
        One of `samples.COMPARED`.
    pixels, megapixels, length_px
        Size of the image.
    base_s, value_s : float
        Both times in seconds: no ratio stands alone.
    ratio, ratio_low, ratio_high : float
        base_s / value_s, and its 95 % bootstrap interval; null where either has too few trials.
    trials : int
        Timed trials of the one that has fewer.
    invalid : bool
        Whether either did other work than its baseline: the ratio enters no fit.
    """
    import polars as pl

    number = pl.Float64
    return {
        "suite": pl.String,
        "family": pl.String,
        "series": pl.String,
        "workers": pl.Int64,
        "value": pl.String,
        "base": pl.String,
        "measure": pl.String,
        "pixels": pl.Int64,
        "megapixels": number,
        "length_px": number,
        "base_s": number,
        "value_s": number,
        "ratio": number,
        "ratio_low": number,
        "ratio_high": number,
        "trials": pl.Int64,
        "invalid": pl.Boolean,
    }
