"""Published numbers of the same kind of problem, beside those measured here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.report.page.table import Columns, laid_out, numbers, words
from pyscale.report.page.values import COMPONENTS, Cell, Row
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import NAMES, problem, titled
from pyscale.report.wording import ABSENT, percent, ratio

if TYPE_CHECKING:
    from pyscale.references.model import Reference

NOTE = "Not comparable: hardware, denoiser and number of iterations differ or are unknown"


def beside(found: Iterable[tuple[Reference, pl.DataFrame]], parts: Parts) -> list[dict[str, Any]]:
    """Lay out every reference on a problem of this report, with its caveats."""
    shown = []
    for reference, table in found:
        rows = [(_name(row), row) for row in table.iter_rows(named=True)]
        hardware = "; ".join(f"{name} {told}" for name, told in reference.hardware.items())
        shown.append(
            {
                "title": reference.title,
                "table": laid_out(
                    f"Beside: {reference.title}", rows, _columns(parts), head="Published"
                ),
                "figures": f"Published: {reference.figures}; on {hardware}. {NOTE}.",
                "caveats": list(reference.caveats),
            }
        )
    return shown


def _name(row: Row) -> str:
    told = f"{titled(problem(row['problem']))}, " if row["problem"] else ""
    return f"{told}{row['size_px']} px"


def _columns(parts: Parts) -> Columns:
    return [
        words("Component", lambda row: NAMES[row["component"]]),
        words(
            "Ranks",
            lambda row: f"{row['workers']}, over {row['baseline_workers']}",
            "There, and those of its baseline",
        ),
        words(
            "Published speedup", lambda row: f"{ratio(row['speedup'])} times", "Over its baseline"
        ),
        words("Efficiency", lambda row: percent(row["efficiency"]), "That speedup x N0/N"),
        words(
            "Work-normalised",
            lambda row: percent(row["normalised_efficiency"]),
            "For as many denoised pixels",
        ),
        numbers(
            "Here",
            lambda row: _here(row, parts),
            "Speedup of the same problem, size, component and numbers of ranks here",
        ),
    ]


def _here(row: Row, parts: Parts) -> Cell:
    """Give the speedup here; a source without its problem has none."""
    same = ("problem", "size_px", "workers", "baseline_workers")
    for point in parts.timed:
        if all(point[name] == row[name] for name in same):
            own = parts.component(point, row["component"])
            if own["speedup"] is not None:
                return COMPONENTS.cell(own, "speedup", ratio)
    return (ABSENT,)
