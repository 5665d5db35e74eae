"""Reconstruction over ranks for the terminal: the answers, a table, failures and doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report.fitted import Fitted, grouped_table, plain
from pyscale.report.ofranks import Row
from pyscale.report.reconstruct.cells import milliseconds
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.section import QUESTION, section
from pyscale.report.results import Results
from pyscale.report.wording import percent, ratio, with_interval

if TYPE_CHECKING:
    from rich.console import RenderableType

NARROW = "The table of components needs a wider terminal; the report has it."
HEADERS = (
    *("N", "iteration\nms [95 %]", "speedup", "effi-\nciency", "per\nwork"),
    *("gradient\nspeedup", "denoiser\nspeedup", "collec-\ntives", "bar-\nriers"),
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
        shown += [Text(f"\n{name}", "bold"), *(Text(plain(sentence)) for sentence in said)]
    shown.append(Text())
    rows = [(parts.names[row["stage"]], _cells(parts, row)) for row in parts.points]
    whole, short = (grouped_table("image", headers, rows) for headers in (HEADERS, HEADERS[:4]))
    shown.append(Fitted(whole, short, NARROW))
    return [*shown, *(Text(plain(said)) for said in (*told["failed"], *told["doubts"]))]


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
        percent(None if alone else row["collectives_share"]),
        percent(None if alone else row["barrier_share"]),
    ]


def _iteration(row: Row) -> str:
    if row["wall_s"] is None:
        return "out of memory" if row["exhausted"] else "failed"
    return with_interval(*(milliseconds(row[f"wall_s{end}"]) for end in ("", "_low", "_high")))
