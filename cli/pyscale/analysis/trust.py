"""Whether numbers of any kind can be trusted: yes, untested, with care or no, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.flags import FLAGS, INVALIDATING, UNCHECKED, of_weight
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale_stages.contract import Record
from pyscale_stages.wording import plural

Trust = Literal["yes", "untested", "with care", "no"]
"""From the best to the worst."""
Row = Mapping[str, Any]

NEUTRAL = of_weight("neutral")
GRAVE = INVALIDATING | UNCHECKED
RATES_DOUBTED_BY = "evicted-unverified"
"""Changes no speedup, but a rate of reading that is the answer itself."""
NOT_COMPARED = "outputs not compared"
MOST_NAMED = 3
"""More rows that raise a flag are counted, not named."""


class Trusted(Record):
    """A grade, what led to it, and what is worth knowing beside it."""

    grade: Trust
    reasons: tuple[str, ...] = Field(description="Why, in a few words each")
    notes: tuple[str, ...] = Field((), description="What cannot change the answer")


def refusal(choice: Choice | None) -> str:
    """Reason for no recommended N."""
    return (choice and choice.refusal) or "no trial was timed"


class Raised(NamedTuple):
    """A flag that numbers raise, where, and whether an answer rests on these numbers."""

    code: str
    where: str = ""
    is_decisive: bool = True


def graded(
    raised: Iterable[Raised],
    *,
    trials: int,
    compared: bool | None,
    against: Iterable[str] = (),
    reasons: Iterable[str] = (),
    notes: Iterable[str] = (),
    in_favour: Iterable[str] = (),
    of_rates: bool = False,
) -> Trusted:
    """Grade numbers by their flags: the one rule for every kind of result.

    It is `no` where an answer rests on what did, or may have done, other work; `with care` where
    the answer could be another; `untested` where no doubt is known, but too few trials were timed
    for a confidence, or outputs were not compared; else `yes`, and a flag is a note.

    Parameters
    ----------
    trials
        The fewest timed trials of what is compared.
    compared
        Whether the outputs that the answer rests on were compared; None where there are none.
    against, reasons, notes, in_favour
        What no flag says.
    of_rates
        Whether rates of reading are the answer.
    """
    said: dict[Trust, list[str]] = {"no": [*against], "with care": [], "untested": [], "yes": []}
    places = list(FLAGS)
    for one in sorted(raised, key=lambda one: places.index(one.code)):
        grade: Trust = "with care"
        if one.is_decisive and one.code in GRAVE:
            grade = "no"
        elif one.code in NEUTRAL and not (of_rates and one.code == RATES_DOUBTED_BY):
            grade = "yes"
        # The number of trials says it.
        if one.code != "few-repeats" or trials >= repeats_needed():
            said[grade].append(f"{FLAGS[one.code].short}{one.where}")
    said["with care"] += reasons
    if trials < repeats_needed():
        said["untested"].append(f"only {plural(trials, 'trial')}")
    if compared is False:
        said["untested"].append(NOT_COMPARED)
    noted = (*said["yes"], *notes)
    if said["no"] or said["with care"]:
        grade = "no" if said["no"] else "with care"
        noted = (*said["untested"] * (trials > 0), *noted)
    else:
        grade = "untested" if said["untested"] else "yes"
    told = in_favour if grade == "yes" else said[grade]
    beside = tuple(dict.fromkeys(noted))
    return Trusted(grade=grade, reasons=tuple(dict.fromkeys(told)), notes=beside)


class Basis(NamedTuple):
    """A row that an answer rests on."""

    name: str
    """Told with a flag that not all rows raise; empty where only that it is raised counts."""
    flags: Collection[str]
    trials: int
    """Timed ones; 0 where the row has no time."""


def judged(
    rows: Sequence[Basis],
    *,
    compared: bool | None,
    none_timed: str,
    what: str = "",
    of_trials: Collection[str] = (),
    indecisive: Collection[str] = (),
    reasons: Iterable[str] = (),
    notes: Iterable[str] = (),
    in_favour: Iterable[str] = (),
    of_rates: bool = False,
) -> Trusted:
    """Grade an answer by the rows that it rests on, and by the flags of the trials they ran in.

    Parameters
    ----------
    none_timed
        Why there is no answer, where no row has a time.
    what
        Name of the rows, of which many are counted.
    indecisive
        Flags of numbers that the answer leaves out.
    """
    timed = [row.trials for row in rows if row.trials]
    if not timed:
        return graded((), trials=0, compared=None, against=(none_timed,))
    of_each = f"{plural(min(timed), 'trial')}{' of each' * (len(timed) > 1)}"
    return graded(
        [*map(Raised, of_trials), *_raised_by(rows, what, indecisive)],
        trials=min(timed),
        compared=compared,
        reasons=reasons,
        notes=notes,
        in_favour=(*in_favour, of_each),
        of_rates=of_rates,
    )


def _raised_by(rows: Sequence[Basis], what: str, indecisive: Collection[str]) -> Iterator[Raised]:
    """Raise every flag once, with the names of its rows where not all that could raise it do."""
    could = sum(bool(row.trials or row.flags) for row in rows)
    for code in dict.fromkeys(code for row in rows for code in row.flags):
        names = [row.name for row in rows if code in row.flags]
        many = f"{len(names)} of {could} {what}"
        where = f" ({' and '.join(names) if len(names) <= MOST_NAMED else many})"
        is_somewhere = any(names) and len(names) < could
        yield Raised(code, where if is_somewhere else "", code not in indecisive)


def trust_in(rows: Sequence[Row], choice: Choice | None, shown: int | None) -> Trusted:
    """Judge the N that was chosen on a curve of the table of configurations, and the speedup shown.

    `shown` is the N of that speedup: that of another where the baseline was chosen.
    """
    timed = _timed(rows)
    against, doubts, favour = [], [], []
    if choice is None or choice.workers is None:
        against.append(refusal(choice))
    # N rises, so the first that was timed is the baseline.
    if any(row["invalid"] for row in timed[:1]):
        against.append(
            "the baseline does not agree with itself"
            if "disagrees" in timed[0]["flags"]
            else "the workers of the baseline never all ran at once"
        )
    if any(row["result_doubted"] for row in rows):
        doubts.append("the stage warns that its result may be wrong")
    if choice is not None and choice.sureness == "undecided" and not choice.is_close:
        rival = "another N" if choice.rival is None else f"N = {choice.rival}"
        doubts.append(f"{rival} may be better")
    elif choice is not None and choice.sureness == "unknown" and _ranges_overlap(timed, choice):
        doubts.append("another N may be better: times too close for so few trials")
    decisive = set() if choice is None else {choice.workers, choice.baseline_workers, shown}
    unchecked = not_compared(timed)
    if len(timed) > 1 and not unchecked:
        same = all(row["identical"] for row in timed)
        favour.append(f"{'same bytes' if same else 'outputs agree'} at every N")
    fewest = min((row["repeats"] for row in timed), default=0)
    favour.append(f"{plural(fewest, 'trial')} of each")
    compared = decisive.isdisjoint(unchecked)
    elsewhere = f"{NOT_COMPARED} (N = {', '.join(map(str, unchecked))})"
    return graded(
        _raised(rows, decisive),
        trials=fewest,
        compared=compared,
        against=against,
        reasons=doubts,
        notes=[elsewhere] if unchecked and compared else [],
        in_favour=favour,
    )


def not_compared(timed: Sequence[Row]) -> list[int]:
    """Each N of a curve whose outputs were not, or not in every trial, held against the baseline's.

    Of one N the outputs of its trials are compared with each other.
    """
    return [
        row["workers"]
        for row in timed[1:] or timed
        if row["agreement"] is None or not UNCHECKED.isdisjoint(row["flags"])
    ]


def _raised(rows: Sequence[Row], decisive: set[int | None]) -> Iterator[Raised]:
    for code in FLAGS:
        # A slow baseline makes the speedup shown too high, but no other N the best.
        of_decisive = code in NEUTRAL | UNCHECKED | {"superlinear"}
        among = [row for row in rows if not of_decisive or row["workers"] in decisive]
        counts = [row["workers"] for row in among if code in row["flags"]]
        if counts:
            where = f" (N = {', '.join(map(str, counts))})" if len(counts) < len(rows) else ""
            # What is invalid is never chosen, and of a baseline it is told in its own words.
            yield Raised(code, where, is_decisive=code not in INVALIDATING)


def _ranges_overlap(timed: Sequence[Row], choice: Choice) -> bool:
    """Whether another N is the better value in the range of the trials, 5 % wide at the least."""
    valid = {row["workers"]: row for row in timed if not row["invalid"]}
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


def _timed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["wall_s"] is not None]
