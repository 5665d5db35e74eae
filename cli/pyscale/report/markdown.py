"""The analysis as text, written from the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pyscale.report.context import ReportContext
from pyscale.report.kinds import sections
from pyscale.report.page.values import Table
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.wording import ABSENT, grouped
from pyscale_stages.atomic import write_atomically

NAME = "scaling_analysis.md"
MOST_NAMED = 4
"""Entries that are named beside an algorithm; a grid may have many."""


def write_markdown(folder: Path, results: Results) -> Path:
    """Write the text: the sections and tables of the page, without its pictures."""
    context = results.context
    properties = list(dict.fromkeys(name for node in context.hardware for name in node))
    template = templates().overlay(finalize=_as_text).get_template(f"{NAME}.j2")
    told = sections(results) | {
        "timed": list(_timed(context)),
        "hardware_columns": properties,
        "hardware_rows": [
            [one.get(name, ABSENT) for name in properties] for one in context.hardware
        ],
        "table": table,
        "laid_out": laid_out,
    }
    write_atomically(folder / NAME, template.render(told))
    return folder / NAME


def _as_text(value: object) -> object:
    """Keep a name from being taken for HTML, which begins like this, as numbers do not."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", value) if isinstance(value, str) else value


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in GitHub's flavour of markdown."""
    lines = []
    for line in (columns, ["---"] * len(columns), *rows):
        # A bar would end the cell, and a new line the row.
        cells = (str(value).replace("|", "\\|").replace("\n", " ") for value in line)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def laid_out(shown: Table) -> str:
    """Write a table of the page."""
    return table(shown.header, shown.texts)


def _timed(context: ReportContext) -> Iterator[str]:
    for how, names in grouped((work.how, entry) for entry, work in context.works.items()).items():
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        yield f"{how} ({', '.join([*names[:MOST_NAMED], *more])})"
