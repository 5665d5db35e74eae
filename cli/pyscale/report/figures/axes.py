"""Axes of printed figures, with ticks that do not touch, and the colours of parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotnine as p9
from mizani.breaks import breaks_extended

from pyscale.report.figures.house import LETTER_MM, Sheet
from pyscale.report.palette import COLOURS

MOST_TICKS = 9


def parts_scale(parts: Mapping[str, str], sheet: Sheet) -> p9.scale_fill_manual:
    """Return the colours of parts, in the order in which bars stack them; values name colours."""
    # Its annotation knows only the words for a guide.
    guide: Any = p9.guide_legend(ncol=sheet.legend_columns(list(parts)), byrow=True)
    colours = [COLOURS[name][0] for name in parts.values()]
    return p9.scale_fill_manual(values=colours, limits=list(parts), guide=guide)


def thinned(labels: Sequence[str], places: Sequence[float], sheet: Sheet) -> list[str]:
    """Empty those labels of an axis that would touch the next one; the last is always kept."""
    length = places[-1] - places[0] if len(places) > 1 else 1.0
    # What is left of a panel where the axis reaches beyond its outermost ticks.
    mm_each = 0.85 * sheet.panel_width_mm / length
    kept, free_mm = [], math.inf
    for label, place in reversed(list(zip(labels, places, strict=True))):
        half_mm = LETTER_MM * (len(label) + 1) / 2
        at_mm = place * mm_each
        fits = at_mm + half_mm <= free_mm
        kept.append(label if fits else "")
        free_mm = at_mm - half_mm if fits else free_mm
    return kept[::-1]


def log_breaks(limits: tuple[float, float]) -> list[float]:
    """Ticks of a logarithmic axis: round, inside the limits, at least two and never too many.

    They are at powers of ten, times 1, 2 and 5 or times every digit as fits; even ones where the
    limits are less than twice each other, which a logarithmic axis hardly distorts.
    """
    low, high = limits
    if high < 2 * low:
        even = breaks_extended(n=5)((low, high))
        return [float(tick) for tick in even if low <= tick <= high]
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
        ticks = (step * 10.0**decade for decade in decades for step in steps)
        finer = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 3 and (len(steps) > 3 or len(finer) > MOST_TICKS):
            break
        inside = finer
    return inside


def power_breaks(limits: tuple[float, float]) -> list[float]:
    """Ticks at powers of two inside the limits; finer ones if few fit."""
    low, high = (math.log2(limit) for limit in limits)
    powers = range(math.ceil(low), math.floor(high) + 1)
    return [2.0**power for power in powers] if len(powers) >= 3 else log_breaks(limits)


def tick_labels(ticks: Sequence[float] | Sequence[str]) -> list[str]:
    """Write numbers in full, without the digits that arithmetic left."""
    return [f"{float(tick):.10g}" for tick in ticks]
