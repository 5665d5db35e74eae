"""Quality of every stage against a known truth, beside its time, and the suite's bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyscale.report.context import Work
from pyscale.report.curves import Curve, curves
from pyscale.report.page.table import Table, laid_out, numbers, words
from pyscale.report.page.values import CONFIGURATIONS, Columns, Row
from pyscale.report.results import Results
from pyscale.report.wording import ABSENT, number, quality

UNKNOWN = Work(data=ABSENT, how=ABSENT)
CAPTION = "Quality"


def right(found: Sequence[Curve], works: Mapping[str, Work]) -> Table | None:
    """Quality of each configuration whose truth is known; None where there is none.

    Worker counts that give the same as the one before them are left out.
    """
    columns: Columns = [
        *CONFIGURATIONS.columns("workers"),
        words("Dataset", lambda row: _work(row, works).data),
        words("Algorithm", lambda row: _work(row, works).how),
        words(
            "Quality against the truth",
            lambda row: quality(row["quality"]),
            "Medians over trials",
        ),
        words("Required", lambda row: _work(row, works).asked, "By the suite"),
        numbers("Wall time (s)", CONFIGURATIONS.plain("wall_s"), "Median over trials"),
    ]
    rows = ((curve.name, row) for curve in found for row in _distinct(curve))
    return laid_out(CAPTION, rows, columns)


def missed(results: Results) -> Iterator[str]:
    """Name each measure that is worse than its suite asks for, or was not measured."""
    works = results.context.works
    for curve in curves(results.configurations):
        work = works.get(curve.key["stage"], UNKNOWN)
        # Of worker counts that compute the same, the first alone may have been judged.
        for row in _distinct(curve) or curve.rows[:1]:
            measured = json.loads(row["quality"])
            for name, bound in (work.at_least | work.at_most).items():
                value = measured.get(name)
                if value is None:
                    yield f"{curve.name}: {name} was not measured; the suite requires it."
                elif name in work.at_least and value < bound:
                    required = f"the suite requires at least {bound:g}"
                    yield f"{curve.name}: {name} is {number(value)}; {required}."
                elif name in work.at_most and value > bound:
                    required = f"the suite requires at most {bound:g}"
                    yield f"{curve.name}: {name} is {number(value)}; {required}."


def _work(row: Row, works: Mapping[str, Work]) -> Work:
    return works.get(row["stage"], UNKNOWN)


def _distinct(curve: Curve) -> list[dict[str, Any]]:
    first = {row["quality"]: row for row in reversed(curve.rows) if row["quality"] != "{}"}
    return [row for row in curve.rows if first.get(row["quality"]) is row]
