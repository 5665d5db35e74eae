"""Sentences on one curve, each from its numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale.analysis.drift import Drift
from pyscale.analysis.flags import SENTENCES, UNCHECKED, flags_of, flags_of_trials
from pyscale.report.curves import Curve, curves
from pyscale.wording import (
    at_each_n,
    score_below,
)

Row = dict[str, Any]


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
