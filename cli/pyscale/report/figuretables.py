"""What the figures show, as tables for plotnine: one row a mark, in the panel of its curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyscale.report.curves import Curve
from pyscale.report.wording import number

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# Single trials stand this fraction of the axis left of their configuration, where they hide
# neither the median nor its interval.
ASIDE = 0.04


def medians(found: list[Curve], *, invalid: bool) -> pd.DataFrame:
    """Wall time and speedup of every valid configuration, or of every invalid one."""
    columns = [f"{value}{end}" for value in ("wall_s", "speedup") for end in ("", "_low", "_high")]
    rows = [
        row | {"panel": _panel(curve)}
        for curve in found
        for row in curve.timed
        if row["invalid"] == invalid
    ]
    return _table(found, columns, rows)


def singles(found: list[Curve], trials: pl.DataFrame) -> pd.DataFrame:
    """Wall time of every timed trial."""
    counts = [row["workers"] for curve in found for row in curve.timed]
    octaves = max(1.0, math.log2(max(counts) / min(counts)))
    aside = 2 ** (-ASIDE * octaves)
    return _table(
        found,
        ["wall_s"],
        [
            {"panel": _panel(curve), "workers": row["workers"] * aside, "wall_s": row["wall_s"]}
            for curve in found
            for row in curve.select(trials).filter("valid").iter_rows(named=True)
        ],
    )


def ideal(found: list[Curve]) -> pd.DataFrame:
    """The base case's work divided evenly, at every count that was measured.

    A curve of one configuration has no such line.
    """
    return _table(
        found,
        ["ideal_speedup", "ideal_s"],
        [
            {
                "panel": _panel(curve),
                "workers": row["workers"],
                "ideal_speedup": row["workers"] / curve.timed[0]["workers"],
                "ideal_s": row["growth"] * curve.timed[0]["worker_seconds"] / row["workers"],
            }
            for curve in found
            if len(curve.timed) > 1
            for row in curve.timed
        ],
    )


def _panel(curve: Curve) -> str:
    base = curve.base
    assert base is not None  # only curves with a timed trial are drawn
    return f"{curve.name}\nbase case N = {base['workers']}: {number(base['wall_s'])} s"


def _table(found: list[Curve], columns: list[str], rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows for plotnine, with panels in the order of the curves; there may be none."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=["panel", "workers", *columns])
    panels = [_panel(curve) for curve in found]
    return table.assign(panel=pd.Categorical(table["panel"], categories=panels))
