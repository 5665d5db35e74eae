"""Ratios at each point: of a value of versus to its base."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.grid.parts import COMPARED
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
