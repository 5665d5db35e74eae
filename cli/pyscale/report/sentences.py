"""Sentences on one curve, each from its numbers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale import wording
from pyscale.analysis.drift import Drift
from pyscale.analysis.flags import SENTENCES, UNCHECKED, flags_of, flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.report import scalingkind
from pyscale.report.curves import Curve, curves
from pyscale.wording import (
    INVALID,
    at_each_n,
    growth,
    listing,
    number,
    phase,
    score_below,
    seconds,
)

Row = dict[str, Any]

SAME_BYTES = "In all trials the output bytes equal the baseline's"
SMALL_PART = 0.005
"""Share of the worker-seconds below which a part is left to the table."""


def base_case(curve: Curve) -> str:
    """State the baseline and its absolute time."""
    base = curve.base
    if base is None:
        return "No timed trial: no wall time and no speedup."
    low, high = base["wall_s_low"], base["wall_s_high"]
    interval = f"no 95 % interval, {repeats_needed()} trials needed"
    if low is not None:
        interval = f"95 % interval {number(low)} to {number(high)} s"
    repeats, doubt = base["repeats"], ""
    trials = "one trial" if repeats == 1 else f"median of {repeats} trials"
    if base["invalid"]:
        doubt = f" It is invalid, so every speedup is in doubt: {why_invalid(base)}."
    return (
        f"Baseline: N = {base['workers']} took {number(base['wall_s'])} s "
        f"({trials}; {interval}).{doubt}"
    )


def lost_time(curve: Curve, losses: pl.DataFrame) -> Iterator[str]:
    """State the growth of the worker-seconds over the baseline by part, largest first."""
    own = curve.select(losses).sort("growth_s", descending=True)
    for row in curve.timed[1:]:
        parts = own.filter(workers=row["workers"]).select("part", "growth_s").rows()
        if not parts:
            continue
        held_s = row["worker_seconds"]
        # Beyond those that the baseline needs for the same amount of work.
        growth_s = float(held_s - row["growth"] * curve.timed[0]["worker_seconds"])
        named = [
            f"{phase(part)} {growth(grown)}"
            for part, grown in parts
            if abs(grown) >= SMALL_PART * held_s
        ]
        invalid = f" ({INVALID})" if row["invalid"] else ""
        yield (
            f"N = {row['workers']}{invalid} used {number(held_s)} worker-seconds, "
            f"{seconds(abs(growth_s))} {'more' if growth_s >= 0 else 'fewer'} than "
            f"{scalingkind.held_against(row)}{': ' + listing(named) if named else ''}."
        )


def serial_fractions(curve: Curve) -> str | None:
    """State the Karp-Flatt fractions, where they are defined, or Gustafson's."""
    rows = [row for row in curve.timed if row["karp_flatt"] is not None and not row["invalid"]]
    if not rows:
        return scalingkind.serial_fractions(curve)
    return f"Karp-Flatt serial fraction: {wording.serial_fractions(rows, 'karp_flatt')}."


def doubts(found: Sequence[Curve], codes: Iterable[str] = SENTENCES) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    rows = [(curve.name, row) for curve in found for row in curve.rows]
    for code in codes:
        raised = [(name, row["workers"]) for name, row in rows if code in row["flags"]]
        if raised:
            is_everywhere = len(raised) == len(rows) and len(found) > 1
            told = "everywhere" if is_everywhere else "; ".join(at_each_n(raised))
            yield f"`{code}` ({told}): {SENTENCES[code]}"


def doubts_of_trials(
    configurations: pl.DataFrame, stages: Collection[str], points: Iterable[Row] = ()
) -> Iterator[str]:
    """Give the flags of the trials of some entries that no point of theirs raises itself."""
    told = {code for row in points for code in flags_of(row)}
    found = [curve for curve in curves(configurations) if curve.key["stage"] in stages]
    codes = flags_of_trials(configurations, stages)
    yield from doubts(found, [code for code in codes if code not in told])


def drifted(found: Sequence[Curve], drifts: Sequence[Drift]) -> Iterator[str]:
    """State how far each curve's wall times drifted."""
    for curve in found:
        for own in drifts:
            if curve.owns(own):
                yield f"{curve.name}: {own.sentence()}"


def not_measured(found: list[Curve], largest_px: float | None = None) -> Iterator[str]:
    """List what was not measured, each with the curves that it concerns."""
    for sentence, lacks in (
        (
            f"95 % intervals (they need {repeats_needed()} timed trials per configuration)",
            lambda row: row["wall_s_low"] is None,
        ),
        (
            "agreement of the output with the baseline's",
            lambda row: (
                row["agreement"] is None
                and row["workers"] > row["baseline_workers"]
                and row["scaling"] != "weak"
            ),
        ),
        (
            "quality of the output (no truth to compare with)",
            lambda row: not json.loads(row["quality"]) and row["scaling"] != "weak",
        ),
        ("state of the page cache", lambda row: row["cache_state"] is None),
        ("time of single tasks", lambda row: row["load_balance"] is None),
        (
            "time by phase (whole tasks count as useful work)",
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
        yield f"Anything beyond N = {largest}{px}: the report does not extrapolate."
    states = {row["cache_state"] for curve in found for row in curve.rows}
    if "verified-cold" in states:
        yield (
            "Caches outside the node: verified-cold covers the node's own page cache, not those of "
            "storage servers and hypervisors."
        )


def not_to_be_trusted(configurations: pl.DataFrame) -> Iterator[str]:
    """Name every configuration that is invalid, or may be because its check failed.

    These fail `pyscale run --strict`.
    """
    for curve in curves(configurations):
        for row in curve.rows:
            where = f"{curve.name} at N = {row['workers']}"
            if row["invalid"]:
                yield f"{where} is invalid: {why_invalid(row)}."
            if not set(UNCHECKED).isdisjoint(row["flags"]):
                yield (
                    f"{where} may be invalid: the comparison of its output with the baseline's "
                    "failed."
                )


def why_invalid(row: Mapping[str, Any]) -> str:
    """Say how far the output of an invalid configuration is from the baseline's, or what else."""
    if "disagrees" not in row["flags"]:
        return "its workers never all ran at once"
    tolerance = row["agreement_tolerance"]
    return (
        "in the worst trial its output agrees with the baseline's by "
        f"{score_below(row['agreement'], tolerance)}, and {tolerance:g} is required "
        f"(the score is: {row['agreement_measure']})"
    )
