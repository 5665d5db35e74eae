"""Published numbers of the same settings, beside those measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.report.loader.cells import value
from pyscale.report.ofranks import Row
from pyscale.report.page.table import Column, Group, Line, Table
from pyscale.report.page.values import Cell
from pyscale.report.wording import ABSENT, number

if TYPE_CHECKING:
    from pyscale.references.model import Reference

COLUMNS = (
    Column(name="N", means="Ranks, there and here"),
    Column(name="Measured here (patches/s)", means="In step"),
    Column(name="Inferred here", means="N times the slowest rank, as published"),
    Column(name="Published", means="N times the slowest rank", is_text=True),
    Column(name="Published sum", means="Of all ranks, each by itself", is_text=True),
)


def beside(
    found: Iterable[tuple[Reference, pl.DataFrame]],
    points: Sequence[Row],
    names: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Lay out every reference that has settings of this report, with its caveats."""
    rows = {(row["stage"], row["workers"]): row for row in points}
    shown = []
    for reference, table in found:
        groups = [
            Group(
                name=names[other["stage"]],
                lines=(_line(rows[other["stage"], other["workers"]], other),),
            )
            for other in table.iter_rows(named=True)
        ]
        shown.append(
            {
                "title": reference.title,
                "table": Table(
                    caption=f"Beside: {reference.title}",
                    head="Configuration",
                    columns=COLUMNS,
                    groups=tuple(groups),
                ),
                "figures": f"Published: {reference.figures}; on {_machine(reference)}.",
                "caveats": list(reference.caveats),
            }
        )
    return shown


def _line(row: Row, other: Row) -> Line:
    return Line(
        cells=(
            (value(row, "workers", str(row["workers"])),),
            _rate(row, "patches_per_s"),
            _rate(row, "inferred_per_s"),
            (f"{number(other['effective_patches_per_s'])} patches/s",),
            (f"{number(other['aggregate_patches_per_s'])} patches/s",),
        )
    )


def _rate(row: Row, column: str) -> Cell:
    known = row[column]
    return (ABSENT,) if known is None else (value(row, column, number(known)),)


def _machine(reference: Reference) -> str:
    return "; ".join(f"{name} {told}" for name, told in reference.hardware.items())
