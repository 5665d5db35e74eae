"""Whether the numbers of a curve can be trusted: yes, with care or no, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.comparison import MARGIN
from pyscale.analysis.flags import FLAGS, UNCHECKED, of_weight
from pyscale_stages.contract import Record

Trust = Literal["yes", "with care", "no"]
Row = Mapping[str, Any]

NEUTRAL = of_weight("neutral")
"""Flags of any kind of result that cannot change its answer: notes, which cost no trust."""
NEUTRAL_OF_RATES = NEUTRAL - {"evicted-unverified"}
"""The same where rates of reading are the answer."""


class Trusted(Record):
    """A grade, what led to it, and what is worth knowing beside it."""

    grade: Trust
    reasons: tuple[str, ...] = Field(description="Why, in a few words each")
    notes: tuple[str, ...] = Field((), description="What cannot change the answer")


def refusal(choice: Choice | None) -> str:
    """Reason for no recommended N."""
    return (choice and choice.refusal) or "no trial was timed"


def trust_in(rows: Sequence[Row], choice: Choice | None, shown: int | None) -> Trusted:
    """Judge the N that was chosen and the speedup shown.

    Parameters
    ----------
    rows : sequence of mapping
        One curve of the table of configurations, by rising N.
    choice : Choice or None
        The best value.
    shown : int or None
        N of the speedup: that of another where the baseline was chosen.

    Returns
    -------
    Trusted
        `no` where the numbers answer another question or none, `with care` where something that
        is known could change the answer, else `yes`.
    """
    decisive = set() if choice is None else {choice.workers, choice.baseline_workers, shown}
    notes = tuple(_notes(rows, decisive))
    against = tuple(_against(rows, choice, decisive))
    if against:
        return Trusted(grade="no", reasons=against, notes=notes)
    doubts = tuple(_in_doubt(rows, choice, decisive))
    if doubts:
        return Trusted(grade="with care", reasons=doubts, notes=notes)
    return Trusted(grade="yes", reasons=tuple(_in_favour(rows)), notes=notes)


def _against(
    rows: Sequence[Row], choice: Choice | None, decisive: set[int | None]
) -> Iterator[str]:
    if choice is None or choice.workers is None:
        yield refusal(choice)
    if any(row["invalid"] for row in _timed(rows)[:1]):
        yield "the baseline does not agree with itself"
    for code in UNCHECKED:
        yield from _raised(rows, code, _among(rows, decisive))


def _in_doubt(
    rows: Sequence[Row], choice: Choice | None, decisive: set[int | None]
) -> Iterator[str]:
    for code in FLAGS:
        if code not in NEUTRAL:
            # A slow baseline makes the speedup shown too high, but no other N the best.
            own = code in {"superlinear", *UNCHECKED}
            yield from _raised(rows, code, _among(rows, decisive) if own else rows)
    if any(row["result_doubted"] for row in rows):
        yield "the stage warns that its result may be wrong"
    if choice is not None and choice.sureness == "undecided" and not choice.is_close:
        rival = "another N" if choice.rival is None else f"N = {choice.rival}"
        yield f"{rival} may be better"
    elif choice is not None and choice.sureness == "unknown" and _ranges_overlap(rows, choice):
        yield "another N may be better: times too close for so few trials"


def _ranges_overlap(rows: Sequence[Row], choice: Choice) -> bool:
    """Whether another N is the better value in the range of the trials, 5 % wide at the least."""
    valid = {row["workers"]: row for row in _timed(rows) if not row["invalid"]}
    own = valid.get(choice.workers or 0)
    if own is None:
        return False
    return any(
        _cost(other, min(other["wall_s_min"], (1 - MARGIN) * other["wall_s"]))
        < _cost(own, max(own["wall_s_max"], (1 + MARGIN) * own["wall_s"]))
        for other in valid.values()
        if other is not own
    )


def _cost(row: Row, wall_s: float) -> float:
    """Cost that the best value minimises: the inverse of speedup x efficiency, up to a factor."""
    return float(row["workers"] * (wall_s / row["growth"]) ** 2)


def _notes(rows: Sequence[Row], decisive: set[int | None]) -> Iterator[str]:
    for code in FLAGS:
        if code in NEUTRAL:
            yield from _raised(rows, code, _among(rows, decisive))
    larger = [row for row in _timed(rows) if row["workers"] > row["baseline_workers"]]
    if any(row["agreement"] is None and row["scaling"] != "weak" for row in larger):
        yield "outputs not checked"


def _among(rows: Sequence[Row], counts: set[int | None]) -> list[Row]:
    return [row for row in rows if row["workers"] in counts]


def _raised(rows: Sequence[Row], code: str, among: Sequence[Row]) -> Iterator[str]:
    counts = [row["workers"] for row in among if code in row["flags"]]
    if counts:
        everywhere = len(counts) == len(rows)
        where = "" if everywhere else f" (N = {', '.join(map(str, counts))})"
        yield f"{FLAGS[code].short}{where}"


def _in_favour(rows: Sequence[Row]) -> Iterator[str]:
    timed = _timed(rows)
    if any(row["agreement"] is not None for row in timed[1:]):
        same = all(row["identical"] for row in timed)
        yield f"{'same bytes' if same else 'outputs agree'} at every N"
    fewest = min(row["repeats"] for row in timed)
    yield f"{fewest} trial{'s' * (fewest > 1)} of each"


def _timed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["wall_s"] is not None]
