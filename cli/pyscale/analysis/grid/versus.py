"""Ratios at each point: of a value of versus to its base, and of N workers to one."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.grid.parts import COMPARED, Measure
from pyscale.analysis.intervals import ratio_interval_by_block, with_ends
from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, columns


def ratios(points: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Compare every point with its base: base time / own time, so that above 1 it is faster."""
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
                {key: own[key] for key in RATIO_SCHEMA if key in own}
                | {
                    "measure": measure,
                    "base_s": base_s,
                    "value_s": own_s,
                    **with_ends("ratio", base_s / own_s, interval),
                    "trials": min(there.height, here.height),
                    "invalid": own["invalid"] or base["invalid"][0],
                }
            )
    return pl.DataFrame(rows, schema=RATIO_SCHEMA)


RATIO_SCHEMA = columns(
    (TEXT, "suite family series"),
    (WHOLE, "workers"),
    (TEXT, "value base measure"),
    (WHOLE, "pixels"),
    (REAL, "megapixels length_px base_s value_s ratio ratio_low ratio_high"),
    (WHOLE, "trials"),
    (FLAG, "invalid"),
)


def sharing(points: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Compare the throughput of N workers with that of one, at every point that has both."""
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
        # N over the time is the calls per second of all N together (see `samples`).
        gain = workers * alone[f"{measure}_s"][0] / own[f"{measure}_s"]
        rows.append(
            {key: own[key] for key in SHARING_SCHEMA if key in own}
            | {
                "measure": measure,
                "oversubscribed": "oversubscribed" in own["flags"],
                "one_mp_s": own["throughput_mp_s"] / gain,
                "gain": gain,
                "gain_low": workers * interval.low if interval else None,
                "gain_high": workers * interval.high if interval else None,
                "efficiency": gain / workers,
            }
        )
    return pl.DataFrame(rows, schema=SHARING_SCHEMA)


SHARING_SCHEMA = columns(
    (TEXT, "suite family stage series value device"),
    (WHOLE, "workers pixels"),
    (REAL, "megapixels length_px"),
    (TEXT, "measure"),
    (REAL, "throughput_mp_s one_mp_s gain gain_low gain_high efficiency"),
    (FLAG, "oversubscribed invalid"),
)
