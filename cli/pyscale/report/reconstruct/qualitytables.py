"""Tables of what ranks computed: whether it is what one rank does, and what size of it fits."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.report.machine.tables import laid_out
from pyscale.report.ofranks import Row
from pyscale.report.page.table import Column, Table
from pyscale.report.page.values import Cell
from pyscale.report.reconstruct.cells import Writer, decibels, point, value
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.tables import HEAD, RANKS, Columns, named
from pyscale.report.reconstruct.words import problem, titled
from pyscale.report.wording import ABSENT, number, ratio


def quality(parts: Parts) -> Table | None:
    """Whether ranks compute what one does, and how good the image is."""
    columns: Columns = [
        (RANKS, point("workers", str)),
        (
            Column(
                name="Agrees",
                means="Gradient and denoised interior of N ranks with those of one",
                is_text=True,
            ),
            lambda row: (row["gate"] or ABSENT,),
        ),
        *(
            (Column(name=name, means=f"{means}; share of the largest value"), point(column, number))
            for name, column, means in (
                ("Gradient", "gate_gradient", "Deviation from one rank's gradient"),
                (
                    "Interior",
                    "gate_interior",
                    "Of the image denoised once, where tiles contain the whole receptive field",
                ),
                ("Border", "gate_border", "The same elsewhere, where tiles do change it"),
                (
                    "Result, interior",
                    "deviation_interior",
                    "Deviation of the result from that at N0",
                ),
                ("Result, border", "deviation_border", "The same elsewhere"),
            )
        ),
        *(
            pair
            for name, column, means in (
                ("PSNR", "psnr", "Peak signal-to-noise ratio of the result"),
                ("PSNR, interior", "psnr_interior", "Of the interior alone"),
                ("PSNR, border", "psnr_border", "Elsewhere"),
            )
            for pair in (
                (Column(name=f"{name} (dB)", means=means), point(f"{column}_db", ratio)),
                (
                    Column(name="Drift (dB)", means="From that at N0"),
                    _drift(f"{column}_drift_db"),
                ),
            )
        ),
        (
            Column(name="Weights", means="Of the denoiser", is_text=True),
            lambda row: (f"{row['weights']}{': timing only' if row['timing_only'] else ''}",),
        ),
    ]
    return laid_out("Agreement and quality", HEAD, named(parts, parts.timed), columns)


def largest(rows: Sequence[Row], parts: Parts) -> Table | None:
    """Sizes that fit each number of ranks, where several sizes of a problem were reconstructed."""
    sizes = {(row["problem"], row["size_px"]) for row in parts.points}
    many = {name for name, _ in sizes if len([one for one, _ in sizes if one == name]) > 1}
    shown = [row for row in rows if row["problem"] in many or row["exhausted_px"] is not None]
    columns: Columns = [
        (RANKS, lambda row: _at_size(parts, row, ("largest_px", "exhausted_px"), "workers")),
        (
            Column(name="Largest that ran (px)", means="Length of the largest image with a time"),
            lambda row: _at_size(parts, row, ("largest_px",), "size_px"),
        ),
        (
            Column(name="Out of memory (px)", means="Smallest image that ran out of memory"),
            lambda row: _at_size(parts, row, ("exhausted_px",), "size_px"),
        ),
    ]
    shown_rows = [(titled(problem(row["problem"])), row | {"flags": None}) for row in shown]
    return laid_out("Largest image that fits", "Problem", shown_rows, columns)


def _at_size(parts: Parts, row: Row, sizes: Sequence[str], column: str) -> Cell:
    """Write a number of the point that a row of sizes concerns."""
    size = next((row[name] for name in sizes if row[name] is not None), None)
    wanted = (row["family"], row["problem"], row["workers"], size)
    for one in parts.points:
        if (one["family"], one["problem"], one["workers"], one["size_px"]) == wanted:
            return (value(one, column, str(one[column])),)
    return (ABSENT,)


def _drift(column: str) -> Writer:
    """Write how far a result at N is from that at N0."""
    write = point(column, decibels)
    return lambda row: (ABSENT,) if row["workers"] == row["baseline_workers"] else write(row)
