"""Report of two versions that one run measured (`run --against`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyscale.analysis.comparison import reasons
from pyscale.report.comparison import (
    OTHER_RESULT,
    Row,
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
from pyscale.report.page.table import Column, Group, Line, Table
from pyscale.report.page.values import VERSIONS, Cell, interval_of, value_of
from pyscale.report.wording import ABSENT, INVALID, number

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
    names = [stage_name(row, rows) for row in rows]
    if not rows:
        return None
    return Table(
        caption="New version against the baseline, by pairs of trials",
        columns=tuple(column for column, _ in _COLUMNS),
        groups=tuple(
            Group(
                name=name,
                lines=tuple(
                    Line(
                        cells=tuple(write(row) for _, write in _COLUMNS),
                        is_invalid=bool(row["base_invalid"] or row["new_invalid"]),
                    )
                    for row, own in zip(rows, names, strict=True)
                    if own == name
                ),
            )
            for name in dict.fromkeys(names)
        ),
    )


def _value(column: str, written: Callable[[Any], str]) -> Callable[[Row], Cell]:
    return lambda row: (value_of("versions", VERSIONS, row, column, written(row[column])),)


def _verdict(row: Row) -> Cell:
    doubts = [INVALID] if row["base_invalid"] or row["new_invalid"] else []
    doubts += [OTHER_RESULT] if has_other_result(row) else []
    return (", ".join([row["verdict"], *doubts]),)


_COLUMNS: tuple[tuple[Column, Callable[[Row], Cell]], ...] = (
    (Column(name="N"), _value("workers", str)),
    (
        Column(name="Baseline (s)", means="Median wall time of the baseline version"),
        _value("base_wall_s", number),
    ),
    (
        Column(name="New (s)", means="Median wall time of the new version"),
        _value("new_wall_s", number),
    ),
    (
        Column(
            name="New / baseline",
            means="Ratio of wall times within a block, above 1 slower, with its interval",
        ),
        lambda row: interval_of("versions", VERSIONS, row, "ratio", ratio3),
    ),
    (Column(name="Verdict", is_text=True), _verdict),
    (
        Column(
            name="Output",
            means="Agreement of the new output with the baseline's, from 0 to 1; =: equal bytes",
        ),
        lambda row: (
            value_of("versions", VERSIONS, row, "output_agreement", output(row) or ABSENT),
        ),
    ),
)
