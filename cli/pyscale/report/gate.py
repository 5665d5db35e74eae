"""Which configurations did other work than their baseline, or may have, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from pyscale.analysis.flags import UNCHECKED
from pyscale.report.curves import curves
from pyscale.report.wording import score_below


def not_to_be_trusted(configurations: pl.DataFrame) -> Iterator[str]:
    """Name every configuration that is invalid, or may be because its check failed.

    These fail `pyscale run --strict`.
    """
    for curve in curves(configurations):
        for row in curve.rows:
            where = f"{curve.name} at N = {row['workers']}"
            if row["invalid"]:
                yield f"{where} is invalid: {disagreement(row)}."
            if not set(UNCHECKED).isdisjoint(row["flags"]):
                yield (
                    f"{where} may be invalid: the comparison of its output with the baseline's "
                    "failed."
                )


def disagreement(row: Mapping[str, Any]) -> str:
    """Say how far the output of an invalid configuration is from the baseline's."""
    tolerance = row["agreement_tolerance"]
    return (
        "in the worst trial its output agrees with the baseline's by "
        f"{score_below(row['agreement'], tolerance)}, and {tolerance:g} is the least that counts "
        f"as the same (the score is: {row['agreement_measure']})"
    )
