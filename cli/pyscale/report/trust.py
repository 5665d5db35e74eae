"""Whether the numbers of a curve can be trusted, and why, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pyscale.analysis.advice import DOUBTFUL, Choice
from pyscale.analysis.flags import INVALIDATING, SENTENCES, UNCHECKED
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.curves import Curve
from pyscale.report.wording import listing

Trust = Literal["yes", "with care", "no"]
Row = dict[str, Any]

IN_SHORT = {
    "few-repeats": f"fewer than {repeats_needed()} trials",
    "unstable": "wall times scatter",
    "first-trial": "the first trial stands apart",
    "drift": "wall times drifted over the run",
    "superlinear": "efficiency above 1: was the base case slow?",
    "warm-not-cold": "the input was in the page cache unasked",
    "evicted-unverified": "nothing proves that the page cache was cold",
    "cache-uncontrolled": "the page cache was not controlled",
    "oversubscribed": "more workers than cores",
    "disturbed": "other work ran on the machine",
    "workers-did-not-overlap": "workers hardly ran at once",
    "clocks-unknown": "the nodes' clocks could not be compared",
    "retried": "a trial was tried again and left out",
    "retried-counted": "a trial that was tried again is counted",
    "failed-trials": "a trial failed",
    "mixed-hardware": "trials ran on different hardware",
    "disagrees": "the output is not the base case's",
    "check-failed": "the check of the output failed",
}
"""Every flag in a few words; `pyscale.analysis.flags.SENTENCES` says it in full."""


def refusal(choice: Choice | None) -> str:
    """Say why no N is advised."""
    return (choice and choice.refusal) or "no trial was timed"


def trust_in(
    curve: Curve, choice: Choice | None, shown: int | None
) -> tuple[Trust, tuple[str, ...]]:
    """Judge the N that was chosen, and the speedup shown, by the flags of all that they rest on.

    Parameters
    ----------
    curve : Curve
    choice : Choice or None
    shown : int or None
        N of the speedup: where the base case was chosen, that of another.
    """
    decisive = set() if choice is None else {choice.workers, choice.baseline_workers, shown}
    rows = [row for row in curve.rows if row["workers"] in decisive]
    against = tuple(_against(curve, choice, rows))
    if against:
        return "no", against
    doubts = (*_in_doubt(curve, rows), *_unchecked(curve))
    if doubts:
        return "with care", doubts
    return "yes", tuple(_in_favour(curve))


def _against(curve: Curve, choice: Choice | None, decisive: Sequence[Row]) -> Iterator[str]:
    """What makes the numbers answer another question, or none at all."""
    if choice is None or choice.workers is None:
        yield refusal(choice)
    if curve.base is not None and curve.base["invalid"]:
        yield "the base case does not agree with itself"
    for code in UNCHECKED:
        yield from _raised(curve, code, decisive)


def _in_doubt(curve: Curve, decisive: Sequence[Row]) -> Iterator[str]:
    """Every flag of what the speedup is made of, and those by which another N could be best."""
    for code in SENTENCES:
        matters = code in {*DOUBTFUL, *INVALIDATING}
        yield from _raised(curve, code, curve.rows if matters else decisive)


def _raised(curve: Curve, code: str, rows: Sequence[Row]) -> Iterator[str]:
    counts = [row["workers"] for row in rows if code in row["flags"]]
    if counts:
        where = "" if len(counts) == len(curve.rows) else f" (N = {listing(counts)})"
        yield f"{IN_SHORT[code]}{where}"


def _unchecked(curve: Curve) -> Iterator[str]:
    rows = [row for row in curve.timed if row["workers"] > row["baseline_workers"]]
    if any(row["agreement"] is None and row["scaling"] != "weak" for row in rows):
        yield "nobody checked that the output is the same at every N"


def _in_favour(curve: Curve) -> Iterator[str]:
    if any(row["agreement"] is not None for row in curve.timed[1:]):
        same = all(row["identical"] for row in curve.timed)
        yield f"{'same bytes' if same else 'outputs agree'} at every N"
    fewest = min(row["repeats"] for row in curve.timed)
    yield f"{fewest} trial{'s' * (fewest > 1)} of each"
    yield "no doubts"
