"""Report of two versions that one run measured (`run --against`)."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.judging import reasons
from pyscale.report.comparison import (
    OTHER_RESULT,
    VersionComparison,
    has_other_result,
    method,
    named,
    output,
    output_remarks,
    ratio3,
    remarks,
    stage_name,
)
from pyscale.report.page.table import Columns, Table, laid_out, numbers, words
from pyscale.report.page.values import VERSIONS, Row
from pyscale.report.wording import ABSENT, INVALID

DIFFERENCE_COLUMNS = ("Difference", "Baseline", "New")


def section(found: VersionComparison | None) -> dict[str, Any] | None:
    """Content of a report's section; None where one version was measured."""
    if found is None:
        return None
    context, table = found.context, found.table
    rows = [row for row in table.to_dicts() if row["verdict"] is not None]
    sentences = reasons(context.at_least, paired=True)
    given = {row["reason"] for row in rows}
    return {
        "base": context.base,
        "headline": headline(rows),
        "difference_columns": DIFFERENCE_COLUMNS,
        "differences": [(one.what, one.base, one.new) for one in context.differences],
        "sentences": [
            *remarks(context),
            *output_remarks(context, table),
            *(sentence for reason, sentence in sentences.items() if reason in given),
        ],
        "table": _table(rows),
        "method": method(context, table),
    }


def headline(rows: list[Row]) -> str:
    """Name in one line the configurations of the new version that differ from the baseline."""
    told = [
        f"{verdict[:1].upper()}{verdict[1:]}: {named(own)}."
        for verdict in ("worse", "slower", "better", "faster", "same", "not enough data")
        if (own := [row for row in rows if row["verdict"] == verdict])
    ]
    if other := [row for row in rows if has_other_result(row)]:
        told.append(f"Other result than the baseline: {named(other)}.")
    return " ".join(told) or "No timed trial of both versions."


def _table(rows: list[Row]) -> Table | None:
    """Ratio and verdict of each configuration, each number tied to the CSV."""
    columns: Columns = [
        numbers("N", VERSIONS.plain("workers", str)),
        numbers(
            "Baseline (s)",
            VERSIONS.plain("base_wall_s"),
            "Median wall time of the baseline version",
        ),
        numbers("New (s)", VERSIONS.plain("new_wall_s"), "Median wall time of the new version"),
        numbers(
            "New / baseline",
            VERSIONS.interval("ratio", ratio3),
            "Ratio of wall times within a block, above 1 slower, with its interval",
        ),
        words("Verdict", _verdict),
        numbers(
            "Output",
            lambda row: (VERSIONS.value(row, "output_agreement", output(row) or ABSENT),),
            "Agreement of the new output with the baseline's, from 0 to 1; =: equal bytes",
        ),
    ]
    named = [(stage_name(row, rows), row | {"invalid": _is_invalid(row)}) for row in rows]
    return laid_out("New version against the baseline, by pairs of trials", named, columns)


def _is_invalid(row: Row) -> bool:
    return bool(row["base_invalid"] or row["new_invalid"])


def _verdict(row: Row) -> str:
    doubts = [INVALID] if _is_invalid(row) else []
    doubts += [OTHER_RESULT] if has_other_result(row) else []
    return ", ".join([row["verdict"], *doubts])
