"""Reconstruction over ranks for the terminal: the answers, a table, failures and doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.report.fitted import Fitted, empty_table
from pyscale.report.ofranks import Row
from pyscale.report.reconstruct.cells import milliseconds
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.section import QUESTION, section
from pyscale.report.results import Results
from pyscale.report.wording import percent, ratio, with_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NARROW = "The table of components needs a wider terminal; the report has it."
HEADERS = (
    *("N", "iteration\nms [95 %]", "speedup", "effi-\nciency", "per\nwork"),
    *("gradient\nspeedup", "denoiser\nspeedup", "ex-\nchange", "bar-\nriers"),
)


def reconstruct_summary(results: Results) -> list[RenderableType]:
    """Say how each reconstruction scales and what holds it back, and lay the numbers out."""
    from rich.text import Text

    told = section(results)
    if told is None or results.reconstruct is None:
        return []
    parts = Parts.of(results.reconstruct)
    shown: list[RenderableType] = [Text(f"\n{QUESTION}", "bold")]
    for name, said in told["answers"]:
        shown += [Text(f"\n{name}", "bold"), *(Text(_plain(sentence)) for sentence in said)]
    shown.append(Text())
    shown.append(Fitted(_table(parts, HEADERS), _table(parts, HEADERS[:4]), NARROW))
    return [*shown, *(Text(_plain(said)) for said in (*told["failed"], *told["doubts"]))]


def _table(parts: Parts, headers: Sequence[str]) -> Table:
    from rich.text import Text

    table = empty_table()
    table.columns[0].header = "image"
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    last = ""
    for row in parts.points:
        name = parts.names[row["stage"]]
        cells = _cells(parts, row)
        table.add_row(Text("" if name == last else name), *map(Text, cells[: len(headers)]))
        last = name
    return table


def _cells(parts: Parts, row: Row) -> list[str]:
    whole = parts.component(row)
    alone = row["workers"] == 1
    return [
        str(row["workers"]),
        _iteration(row),
        ratio(whole["speedup"]),
        ratio(whole["efficiency"]),
        ratio(whole["normalised_efficiency"]),
        ratio(parts.component(row, "gradient")["speedup"]),
        ratio(parts.component(row, "denoiser")["speedup"]),
        percent(None if alone else row["communication_share"]),
        percent(None if alone else row["barrier_share"]),
    ]


def _iteration(row: Row) -> str:
    if row["wall_s"] is None:
        return "out of memory" if row["exhausted"] else "failed"
    return with_interval(*(milliseconds(row[f"wall_s{end}"]) for end in ("", "_low", "_high")))


def _plain(sentence: str) -> str:
    return sentence.replace("`", "")
