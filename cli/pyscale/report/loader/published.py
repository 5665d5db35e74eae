"""Published numbers of the same settings, beside those measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.report.ofranks import Row
from pyscale.report.page.table import Columns, laid_out, numbers, words
from pyscale.report.page.values import LOADER
from pyscale.report.wording import number

if TYPE_CHECKING:
    from pyscale.references.model import Reference

COLUMNS: Columns = [
    numbers("N", LOADER.plain("workers", str), "Ranks, there and here"),
    numbers("Measured here (patches/s)", LOADER.plain("patches_per_s"), "In step"),
    numbers(
        "Inferred here",
        LOADER.plain("inferred_per_s"),
        "N times the slowest rank, as published",
    ),
    words(
        "Published",
        lambda row: f"{number(row['effective_patches_per_s'])} patches/s",
        "N times the slowest rank",
    ),
    words(
        "Published sum",
        lambda row: f"{number(row['aggregate_patches_per_s'])} patches/s",
        "Of all ranks, each by itself",
    ),
]


def beside(
    found: Iterable[tuple[Reference, pl.DataFrame]],
    points: Sequence[Row],
    names: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Lay out every reference that has settings of this report, with its caveats."""
    own = {(row["stage"], row["workers"]): row for row in points}
    shown = []
    for reference, table in found:
        rows = [
            (names[other["stage"]], other | own[other["stage"], other["workers"]])
            for other in table.iter_rows(named=True)
        ]
        caption = f"Beside: {reference.title}"
        shown.append(
            {
                "title": reference.title,
                "table": laid_out(caption, rows, COLUMNS, head="Configuration"),
                "figures": f"Published: {reference.figures}; on {_machine(reference)}.",
                "caveats": list(reference.caveats),
            }
        )
    return shown


def _machine(reference: Reference) -> str:
    return "; ".join(f"{name} {told}" for name, told in reference.hardware.items())
