"""Sentences that follow from the numbers of one curve; nothing is said that no number shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyscale.analysis.drift import Drift
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.intervals import repeats_needed
from pyscale.report import scalingkind, wording
from pyscale.report.curves import Curve
from pyscale.report.gate import disagreement
from pyscale.report.wording import (
    INVALID,
    growth,
    listing,
    number,
    phase,
    quality,
    ratio,
    score,
    seconds,
)

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]

SAME_BYTES = "The outputs of all trials have the same bytes as the baseline's"
SMALL_PART = 0.005
"""Share of the worker-seconds below which a part is left to the table."""


def base_case(curve: Curve) -> str:
    """State the base case and its absolute time."""
    base = curve.base
    if base is None:
        return "No trial was timed, so there is no wall time and no speedup."
    interval = _interval(base, "wall_s", number, " s", is_base=True)
    return (
        f"Base case: N = {base['workers']} took {number(base['wall_s'])} s "
        f"({_of_trials(base)}; {interval}).{_unlike_itself(base)}"
    )


def speedups(curve: Curve) -> Iterator[str]:
    """State wall time, speedup and efficiency at every other worker count."""
    for row in curve.timed[1:]:
        if row["invalid"]:
            yield (
                f"N = {row['workers']}: {number(row['wall_s'])} s ({_of_trials(row)}), which is "
                f"invalid: {disagreement(row)}. A speedup would compare two different results."
            )
            continue
        yield (
            f"N = {row['workers']}: {number(row['wall_s'])} s ({_of_trials(row)}), "
            f"{scalingkind.faster(row)} "
            f"({_interval(row, 'speedup', ratio)}); efficiency {ratio(row['efficiency'])}"
            f"{_factors(row, curve.timed[0])}."
        )
    for row in curve.rows:
        if row["wall_s"] is None:
            yield f"N = {row['workers']}: no trial was timed."


def lost_time(curve: Curve, losses: pl.DataFrame) -> Iterator[str]:
    """State what the worker-seconds beyond the base case's went to, largest part first."""
    own = curve.select(losses).sort("growth_s", descending=True)
    for row in curve.timed[1:]:
        parts = own.filter(own["workers"] == row["workers"])
        if parts.is_empty():
            continue
        base = curve.timed[0]
        growth_s = scalingkind.beyond_work_s(row, base)
        named = [
            f"{phase(part)} {growth(grown)}"
            for part, grown in zip(parts["part"], parts["growth_s"], strict=True)
            if abs(grown) >= SMALL_PART * row["worker_seconds"]
        ]
        invalid = f" ({INVALID})" if row["invalid"] else ""
        yield (
            f"N = {row['workers']}{invalid} held {number(row['worker_seconds'])} worker-seconds, "
            f"{seconds(abs(growth_s))} {'more' if growth_s >= 0 else 'fewer'} than "
            f"{scalingkind.held_against(row)}{': ' + listing(named) if named else ''}."
        )


def serial_fractions(curve: Curve) -> str | None:
    """State the Karp-Flatt fractions, where they are defined, or Gustafson's."""
    rows = [row for row in curve.timed if row["karp_flatt"] is not None and not row["invalid"]]
    if not rows:
        return scalingkind.serial_fractions(curve)
    return f"Serial fraction by Karp and Flatt: {wording.serial_fractions(rows, 'karp_flatt')}."


def agreement(curve: Curve) -> str | None:
    """State how far the outputs are those of the base case."""
    rows = [row for row in curve.rows if row["agreement"] is not None]
    if not rows:
        return None
    found = listing(f"{score(row['agreement'])} at N = {row['workers']}" for row in rows)
    same = [row["workers"] for row in rows if row["identical"]]
    bytes_too = f" {SAME_BYTES} (=) at N = {listing(same)}." if same else ""
    return (
        "Agreement of the output with the baseline's (1 is full agreement by the stage's measure; "
        f"lowest trial): {found}.{bytes_too}"
    )


def correctness(curve: Curve) -> str | None:
    """State how right the outputs are, at every worker count where truth was known."""
    rows = [row for row in curve.rows if json.loads(row["quality"])]
    if not rows:
        return None
    records = {row["quality"] for row in rows}
    counts = listing(row["workers"] for row in rows)
    if len(records) == 1:
        where = f", the same at N = {counts}" if len(rows) > 1 else f" at N = {counts}"
        return f"Quality against the truth{where}: {quality(records.pop())}."
    found = "; ".join(f"N = {row['workers']}: {quality(row['quality'])}" for row in rows)
    return f"Quality against the truth (medians): {found}."


def doubts(found: Sequence[Curve], codes: Iterable[str] = SENTENCES) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    for code in codes:
        raised = {
            curve.name: [row["workers"] for row in curve.rows if code in row["flags"]]
            for curve in found
        }
        where = [f"{name} at N = {listing(counts)}" for name, counts in raised.items() if counts]
        if not where:
            continue
        everywhere = all(code in row["flags"] for curve in found for row in curve.rows)
        told = "everywhere" if everywhere and len(found) > 1 else "; ".join(where)
        yield f"`{code}` ({told}): {SENTENCES[code]}"


def doubts_and_drifts(found: Sequence[Curve], drifts: Iterable[Drift]) -> Iterator[str]:
    """Give every flag once, and how far each curve's wall times drifted."""
    yield from doubts(found)
    for curve in found:
        for own in drifts:
            if curve.owns(own):
                yield from (f"{curve.name}: {sentence}" for sentence in own.sentences())


def not_measured(found: list[Curve], largest_px: float | None = None) -> Iterator[str]:
    """Say what the tables leave open, each with the curves that it concerns.

    Parameters
    ----------
    found : list of Curve
    largest_px : float, optional
        Length of the largest image, where sizes were swept.
    """
    for sentence, lacks in (
        (
            f"95 % intervals ({repeats_needed()} timed trials per configuration are needed)",
            lambda row: row["wall_s_low"] is None,
        ),
        (
            "whether the output is that of the baseline",
            lambda row: (
                row["agreement"] is None
                and row["workers"] > row["baseline_workers"]
                and row["scaling"] != "weak"
            ),
        ),
        (
            "how right the output is (there was no truth to compare with)",
            lambda row: not json.loads(row["quality"]) and row["scaling"] != "weak",
        ),
        ("the state of the page cache", lambda row: row["cache_state"] is None),
        ("the time of single tasks", lambda row: row["load_balance"] is None),
        (
            "the time by phase: whole tasks stand for useful work",
            lambda row: row["useful_share"] is None and row["load_balance"] is not None,
        ),
        (
            "queue wait, start stagger and overlap of workers",
            lambda row: row["queue_s"] is None,
        ),
    ):
        curves = [curve for curve in found if any(lacks(row) for row in curve.rows)]
        if curves:
            where = "all stages" if len(curves) == len(found) else listing(c.name for c in curves)
            yield f"{where}: {sentence}."
    yield from scalingkind.not_compared(found)
    largest = max((row["workers"] for curve in found for row in curve.timed), default=None)
    px = "" if largest_px is None else f" and images larger than {largest_px:.0f} px"
    if largest is not None:
        yield f"Anything beyond N = {largest}{px}: nothing here is extrapolated."
    states = {row["cache_state"] for curve in found for row in curve.rows}
    if "verified-cold" in states:
        yield (
            "Caches outside the node: verified-cold speaks of the node's own page cache; "
            "those of storage servers and hypervisors cannot be seen from it."
        )


def _unlike_itself(base: Row) -> str:
    if not base["invalid"]:
        return ""
    return f" It is invalid, which puts every speedup over it in doubt: {disagreement(base)}."


def _of_trials(row: Row) -> str:
    repeats = row["repeats"]
    return "one trial" if repeats == 1 else f"median of {repeats} trials"


def _interval(row: Row, name: str, written: Any, unit: str = "", *, is_base: bool = False) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        needed = repeats_needed()
        if row["repeats"] < needed:
            # What it takes is said once, with the base case.
            return f"no 95 % interval{f', {needed} trials needed' if is_base else ''}"
        return f"no 95 % interval, the base case has fewer than {needed} trials"
    return f"95 % interval {written(low)} to {written(high)}{unit}"


def _factors(row: Row, base: Row) -> str:
    """Write the efficiency as the product that it is, with the baseline's values beside."""
    if row["load_balance"] is None or row["computation_scaling"] is None:
        return ""
    parts = [f"load balance {_against(row, base, 'load_balance')}"]
    parts.append(f"computation scaling {ratio(row['computation_scaling'])}")
    if row["useful_share"] is not None:
        parts.append(f"useful share {_against(row, base, 'useful_share')}")
    return " = " + " x ".join(parts)


def _against(row: Row, base: Row, column: str) -> str:
    return f"{ratio(row[column])}/{ratio(base[column])}"
