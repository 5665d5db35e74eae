"""Whether the numbers of a sweep can be trusted, and why, in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.analysis.flags import FLAGS, UNCHECKED
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.trust import NEUTRAL, Trust
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import Row, plural, size
from pyscale.report.wording import listing, score

MOST_POINTS = 3
"""More points that raise a flag are counted and not named."""


def trust_in_sweep(sweep: Sweep) -> tuple[Trust, tuple[str, ...]]:
    """Judge a sweep by the flags of its points, and by what was set beside what."""
    if not sweep.is_timed:
        return "no", ("no call was timed",)
    against = tuple(reason for code in UNCHECKED for reason in _raised(sweep, code))
    if against:
        return "no", against
    agreed = tuple(_agreement(sweep))
    doubts, notes = (
        tuple(
            reason
            for code in FLAGS
            if (code in NEUTRAL) == is_note
            for reason in _raised(sweep, code)
        )
        for is_note in (False, True)
    )
    beside = (*notes, *_unchecked(sweep))
    if doubts:
        return "with care", (*doubts, *agreed, *beside)
    fewest = min(row["trials"] for row in sweep.points)
    return "yes", (*agreed, f"{plural(fewest, 'trial')} of each", *beside)


def _raised(sweep: Sweep, code: str) -> Iterator[str]:
    rows = [row for row in sweep.points if code in codes(row)]
    if not rows:
        return
    where = ""
    if len(rows) > MOST_POINTS:
        where = f" ({len(rows)} of {plural(len(sweep.points), 'point')})"
    elif len(rows) < len(sweep.points):
        where = f" ({listing(_point(sweep, row) for row in rows)})"
    yield f"{FLAGS[code].short}{'' if len(rows) == len(sweep.points) else where}"


def codes(row: Row) -> list[str]:
    """Flags of a point; published times raise none but that of their few trials."""
    few = ["few-repeats"] if row["trials"] < repeats_needed() else []
    return list(dict.fromkeys([*few, *(row["flags"] or [])]))


def _point(sweep: Sweep, row: Row) -> str:
    return f"{sweep.line_of(row)}, {size(row['length_px'])}" if row["length_px"] else row["stage"]


def _unchecked(sweep: Sweep) -> Iterator[str]:
    for line in sweep.compared:
        if all(row["beside_ap_iou50"] is None for row in line.points):
            yield f"outputs of {line.name} not compared"


def _agreement(sweep: Sweep) -> Iterator[str]:
    for line in sweep.compared:
        found = [row["beside_ap_iou50"] for row in line.points]
        known = [one for one in found if one is not None]
        if known:
            yield f"outputs of {line.name} agree by {score(min(known))} or more (AP at IoU 0.5)"
