"""Whether the numbers of a sweep can be trusted, and why, in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.analysis.flags import FLAGS, INVALIDATING
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.trust import MOST_NAMED, Raised, Trusted, graded
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import Row, plural, size
from pyscale.report.wording import listing, score


def trust_in_sweep(sweep: Sweep) -> Trusted:
    """Judge a sweep by the flags of its points, and by what was set beside what."""
    if not sweep.is_timed:
        return graded((), against=("no call was timed",))
    return graded(
        _raised(sweep),
        notes=(*_agreement(sweep), *_unchecked(sweep)),
        in_favour=(f"{plural(min(row['trials'] for row in sweep.points), 'trial')} of each",),
    )


def _raised(sweep: Sweep) -> Iterator[Raised]:
    for code in FLAGS:
        rows = [row for row in sweep.points if code in codes(row)]
        where = f" ({listing(_point(sweep, row) for row in rows)})"
        if len(rows) > MOST_NAMED:
            where = f" ({len(rows)} of {plural(len(sweep.points), 'point')})"
        if rows:
            # A point that did other work has no ratio.
            is_decisive = code not in INVALIDATING
            yield Raised(code, where if len(rows) < len(sweep.points) else "", is_decisive)


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
