"""The analysis as text, written from the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pyscale.report.context import ReportContext
from pyscale.report.page.sections import sections
from pyscale.report.page.values import Table
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.wording import ABSENT, grouped
from pyscale_stages.atomic import write_atomically

NAME = "scaling_analysis.md"
MOST_NAMED = 4
"""Entries that are named beside an algorithm; a grid may have many."""


def write_markdown(folder: Path, results: Results) -> Path:
    """Write the text; it tells what the page does, without its pictures and its first screen."""
    context = results.context
    properties = list(dict.fromkeys(name for node in context.hardware for name in node))
    template = templates().overlay(finalize=_as_text).get_template(f"{NAME}.j2")
    told = sections(results) | {
        "title": context.title,
        "stand_ins": context.stand_ins,
        "settings": context.settings,
        "timed": list(_timed(context)),
        "hardware_columns": properties,
        "hardware": [[node.get(name, ABSENT) for name in properties] for node in context.hardware],
        "table": table,
        "of_stages": partial(_of_stages, context),
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


def _of_stages(context: ReportContext, shown: Table, names: Mapping[str, str]) -> str:
    """Write a table of curves, with the algorithm of each by the stage that it is of."""
    if not context.works:
        return laid_out(shown)
    works = context.works
    how = {name: works[stage].how for name, stage in names.items() if stage in works}
    first, *others = shown.header
    named = ([row[0], how.get(row[0], ABSENT), *row[1:]] for row in shown.texts)
    return table([first, "Algorithm", *others], named)


def _timed(context: ReportContext) -> Iterator[str]:
    for how, names in grouped((work.how, entry) for entry, work in context.works.items()).items():
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        yield f"{how} ({', '.join([*names[:MOST_NAMED], *more])})"
