"""Whether numbers of any kind can be trusted: yes, with care or no, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.flags import FLAGS, INVALIDATING, UNCHECKED, flags_of, of_weight
from pyscale.analysis.judging import MARGIN
from pyscale_stages.contract import Record

if TYPE_CHECKING:
    from pyscale.analysis.ranks.components import Knee
    from pyscale.analysis.ranks.loader import LoaderFindings

Trust = Literal["yes", "with care", "no"]
Row = Mapping[str, Any]

NEUTRAL = of_weight("neutral")
GRAVE = INVALIDATING | UNCHECKED
RATES_DOUBTED_BY = "evicted-unverified"
"""Changes no speedup, but a rate of reading that is the answer itself."""
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
    against: Iterable[str] = (),
    reasons: Iterable[str] = (),
    notes: Iterable[str] = (),
    in_favour: Iterable[str] = (),
    of_rates: bool = False,
) -> Trusted:
    """Grade numbers by their flags: the one rule for every kind of result.

    It is `no` where an answer rests on what did, or may have done, other work; `with care` where
    the answer could be another; else a flag is a note. `against`, `reasons`, `notes` and
    `in_favour` are what no flag says; `of_rates` is whether rates of reading are the answer.
    """
    said: dict[Trust, list[str]] = {"no": [*against], "with care": [], "yes": []}
    places = list(FLAGS)
    for one in sorted(raised, key=lambda one: places.index(one.code)):
        grade: Trust = "with care"
        if one.is_decisive and one.code in GRAVE:
            grade = "no"
        elif one.code in NEUTRAL and not (of_rates and one.code == RATES_DOUBTED_BY):
            grade = "yes"
        said[grade].append(f"{FLAGS[one.code].short}{one.where}")
    said["with care"] += reasons
    beside = tuple(dict.fromkeys((*said["yes"], *notes)))
    for grade in ("no", "with care"):
        if said[grade]:
            return Trusted(grade=grade, reasons=tuple(dict.fromkeys(said[grade])), notes=beside)
    return Trusted(grade="yes", reasons=tuple(in_favour), notes=beside)


def raised_by(
    rows: Iterable[tuple[str, Collection[str]]],
    what: str,
    *,
    all_of: int,
    indecisive: Collection[str] = (),
) -> Iterator[Raised]:
    """Raise every flag of some rows, with their names where not all that could have it do."""
    names: dict[str, list[str]] = {}
    for name, codes in rows:
        for code in codes:
            names.setdefault(code, []).append(name)
    for code, own in names.items():
        many = f"{len(own)} of {all_of} {what}"
        where = f" ({' and '.join(own) if len(own) <= MOST_NAMED else many})"
        yield Raised(code, where if len(own) < all_of else "", code not in indecisive)


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
    larger = [row for row in timed if row["workers"] > row["baseline_workers"]]
    # In weak scaling each N has other frames, so that outputs are not compared.
    unchecked = any(row["agreement"] is None and row["scaling"] != "weak" for row in larger)
    if any(row["agreement"] is not None for row in timed[1:]):
        same = all(row["identical"] for row in timed)
        favour.append(f"{'same bytes' if same else 'outputs agree'} at every N")
    if timed:
        fewest = min(row["repeats"] for row in timed)
        favour.append(f"{fewest} trial{'s' * (fewest > 1)} of each")
    decisive = set() if choice is None else {choice.workers, choice.baseline_workers, shown}
    return graded(
        _raised(rows, decisive),
        against=against,
        reasons=doubts,
        notes=["outputs not checked"] if unchecked else [],
        in_favour=favour,
    )


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


def trust_in_loading(findings: LoaderFindings, of_trials: Sequence[str] = ()) -> Trusted:
    """Judge the configuration that is advised, by its flags and those of its trials."""
    row = findings.chosen
    if row is None:
        return graded((), against=("no timed configuration",))
    points = findings.points
    failed = points.filter(points["patches_per_s"].is_null())["stage"].n_unique()
    lost = [f"{failed} configuration{'s' * (failed > 1)} failed"] if failed else []
    cold = ["cold cache verified"] if row["cache_state"] == "verified-cold" else []
    return graded(
        map(Raised, (*flags_of(row), *of_trials)),
        reasons=lost,
        in_favour=(*cold, f"{row['repeats']} trials"),
        of_rates=True,
    )


def trust_in_reconstruction(
    rows: Sequence[Row], knee: Knee | None, of_trials: Sequence[str] = ()
) -> Trusted:
    """Judge an entry by the flags of all points that its answers rest on, and of its trials."""
    if knee is None:
        return graded((), against=("no trial counts",))
    timed = _timed(rows)
    fastest = min(timed, key=lambda row: (row["wall_s"], row["workers"]))
    counts = {row["workers"] for row in (knee.base, knee.row, knee.following, fastest) if row}
    decisive = [row for row in timed if row["workers"] in counts]
    codes = {code for row in decisive for code in flags_of(row)}
    codes |= GRAVE.intersection(code for row in rows for code in flags_of(row))
    lost = ", ".join(str(row["workers"]) for row in rows if row not in timed)
    agrees = ["ranks agree with one"] if any(r["gate"] == "agrees" for r in decisive) else []
    return graded(
        map(Raised, codes.union(of_trials)),
        reasons=[f"no timed trial at N = {lost}"] if lost else [],
        in_favour=(*agrees, f"{min(row['repeats'] for row in decisive)} trials of each"),
    )


def trust_in_tests(rows: Sequence[Row], of_trials: Sequence[str] = ()) -> Trusted:
    """Judge the tests of a node by their flags, and by those of the trials that they ran in."""
    whole = [row for row in rows if row["whole"]]
    timed = sum(row["wall_s"] is not None for row in whole)
    if not timed:
        return graded((), against=("no test has a time",))
    raised = [
        *map(Raised, of_trials),
        *raised_by([(_test(row), row["flags"] or []) for row in whole], "tests", all_of=timed),
    ]
    intervals = all(row["wall_s_low"] is not None for row in whole if row["wall_s"] is not None)
    return graded(
        raised,
        in_favour=(
            "every result is right",
            *(["every test that ran has an interval"] if intervals else []),
        ),
        of_rates=True,
    )


def _test(row: Row) -> str:
    return f"{row['test']} on {row['device']}" if row["device"] else str(row["test"])
