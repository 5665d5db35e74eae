"""Published numbers of the same kind of problem, beside those measured here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.report.machine.tables import laid_out
from pyscale.report.ofranks import Row
from pyscale.report.page.table import Column
from pyscale.report.page.values import Cell
from pyscale.report.reconstruct.cells import Writer, component_value
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
        # `laid_out` asks every row for its flags.
        rows = [(_name(row), row | {"flags": None}) for row in table.iter_rows(named=True)]
        hardware = "; ".join(f"{name} {told}" for name, told in reference.hardware.items())
        shown.append(
            {
                "title": reference.title,
                "table": laid_out(f"Beside: {reference.title}", "Published", rows, _columns(parts)),
                "figures": f"Published: {reference.figures}; on {hardware}. {NOTE}.",
                "caveats": list(reference.caveats),
            }
        )
    return shown


def _name(row: Row) -> str:
    told = f"{titled(problem(row['problem']))}, " if row["problem"] else ""
    return f"{told}{row['size_px']} px"


def _columns(parts: Parts) -> list[tuple[Column, Writer]]:
    return [
        (Column(name="Component", is_text=True), lambda row: (NAMES[row["component"]],)),
        (
            Column(name="Ranks", means="There, and those of its baseline", is_text=True),
            lambda row: (f"{row['workers']}, over {row['baseline_workers']}",),
        ),
        (
            Column(name="Published speedup", means="Over its baseline", is_text=True),
            lambda row: (f"{ratio(row['speedup'])} times",),
        ),
        (
            Column(name="Efficiency", means="That speedup x N0/N", is_text=True),
            lambda row: (percent(row["efficiency"]),),
        ),
        (
            Column(name="Work-normalised", means="For as many denoised pixels", is_text=True),
            lambda row: (percent(row["normalised_efficiency"]),),
        ),
        (
            Column(
                name="Here",
                means="Speedup of the same problem, size, component and numbers of ranks here",
            ),
            lambda row: _here(row, parts),
        ),
    ]


def _here(row: Row, parts: Parts) -> Cell:
    """Give the speedup here; a source without its problem has none."""
    same = ("problem", "size_px", "workers", "baseline_workers")
    for point in parts.timed:
        if all(point[name] == row[name] for name in same):
            own = parts.component(point, row["component"])
            if own["speedup"] is not None:
                return (component_value(own, "speedup", ratio(own["speedup"])),)
    return (ABSENT,)
