"""Tables of what ranks computed: whether it is what one rank does, and what size of it fits."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.report.page.table import Columns, Table, laid_out, numbers, words
from pyscale.report.page.values import RECONSTRUCTIONS, Cell, Row, Writer
from pyscale.report.reconstruct.cells import decibels
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.tables import HEAD, RANKS, named
from pyscale.report.reconstruct.words import problem, titled
from pyscale.report.wording import ABSENT, ratio

OF = RECONSTRUCTIONS
DEVIATIONS = (
    ("Gradient", "gate_gradient", "Deviation from one rank's gradient"),
    (
        "Interior",
        "gate_interior",
        "Of the image denoised once, where tiles contain the whole receptive field",
    ),
    ("Border", "gate_border", "The same elsewhere, where tiles do change it"),
    ("Result, interior", "deviation_interior", "Deviation of the result from that at N0"),
    ("Result, border", "deviation_border", "The same elsewhere"),
)
SIGNALS = (
    ("PSNR", "psnr", "Peak signal-to-noise ratio of the result"),
    ("PSNR, interior", "psnr_interior", "Of the interior alone"),
    ("PSNR, border", "psnr_border", "Elsewhere"),
)


def quality(parts: Parts) -> Table | None:
    """Whether ranks compute what one does, and how good the image is."""
    columns: Columns = [
        RANKS,
        words(
            "Agrees",
            lambda row: row["gate"],
            "Gradient and denoised interior of N ranks with those of one",
        ),
        *(
            numbers(name, OF.plain(column), f"{means}; share of the largest value")
            for name, column, means in DEVIATIONS
        ),
        *(
            pair
            for name, column, means in SIGNALS
            for pair in (
                numbers(f"{name} (dB)", OF.plain(f"{column}_db", ratio), means),
                numbers("Drift (dB)", _drift(f"{column}_drift_db"), "From that at N0"),
            )
        ),
        words(
            "Weights",
            lambda row: f"{row['weights']}{': timing only' if row['timing_only'] else ''}",
            "Of the denoiser",
        ),
    ]
    return laid_out("Agreement and quality", named(parts, parts.timed), columns, head=HEAD)


def largest(rows: Sequence[Row], parts: Parts) -> Table | None:
    """Sizes that fit each number of ranks, where several sizes of a problem were reconstructed."""
    sizes = {(row["problem"], row["size_px"]) for row in parts.points}
    many = {name for name, _ in sizes if len([one for one, _ in sizes if one == name]) > 1}
    shown = [row for row in rows if row["problem"] in many or row["exhausted_px"] is not None]
    columns: Columns = [
        (RANKS[0], lambda row: _at_size(parts, row, ("largest_px", "exhausted_px"), "workers")),
        numbers(
            "Largest that ran (px)",
            lambda row: _at_size(parts, row, ("largest_px",), "size_px"),
            "Length of the largest image with a time",
        ),
        numbers(
            "Out of memory (px)",
            lambda row: _at_size(parts, row, ("exhausted_px",), "size_px"),
            "Smallest image that ran out of memory",
        ),
    ]
    found = [(titled(problem(row["problem"])), row) for row in shown]
    return laid_out("Largest image that fits", found, columns, head="Problem")


def _at_size(parts: Parts, row: Row, sizes: Sequence[str], column: str) -> Cell:
    """Write a number of the point that a row of sizes concerns."""
    size = next((row[name] for name in sizes if row[name] is not None), None)
    wanted = (row["family"], row["problem"], row["workers"], size)
    for one in parts.points:
        if (one["family"], one["problem"], one["workers"], one["size_px"]) == wanted:
            return OF.cell(one, column, str)
    return (ABSENT,)


def _drift(column: str) -> Writer:
    """Write how far a result at N is from that at N0."""
    write = OF.plain(column, decibels)
    return lambda row: (ABSENT,) if row["workers"] == row["baseline_workers"] else write(row)
