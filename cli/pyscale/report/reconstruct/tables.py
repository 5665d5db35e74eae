"""Tables of reconstruction over ranks, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.report.machine.tables import laid_out
from pyscale.report.ofranks import Row
from pyscale.report.page.table import Column, Table
from pyscale.report.page.values import Cell
from pyscale.report.reconstruct.cells import (
    Writer,
    component,
    doubts,
    iteration,
    milliseconds,
    of_several,
    point,
    speedup,
)
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import COMPUTED, NAMES, OBJECTIVE, TOTAL, titled
from pyscale.report.wording import ABSENT, gib, number, percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

Columns = list[tuple[Column, Writer]]
HEAD = "Reconstruction"
RANKS = Column(name="N", means="Ranks, each with its own GPU or cores")


def scaling(parts: Parts) -> Table | None:
    """Speedup of an iteration; failed configurations with their error."""
    columns: Columns = [
        (RANKS, point("workers", str)),
        (Column(name="Trials", means="Timed"), point("repeats", str)),
        (
            Column(
                name="Iteration (ms)",
                means="Of the rank that takes longest: median over trials of the median over "
                "iterations, 95 % interval",
            ),
            iteration,
        ),
        (
            Column(name="Speedup", means="Over the fewest ranks with a time, N0; 95 % interval"),
            speedup(parts, TOTAL),
        ),
        (
            Column(name="Efficiency", means="Speedup x N0/N"),
            component(parts, TOTAL, "efficiency", ratio),
        ),
        (
            Column(
                name="Work-normalised",
                means="Efficiency for as many denoised pixels: times the work at N over that at N0",
            ),
            component(parts, TOTAL, "normalised_efficiency", ratio),
        ),
        (
            Column(
                name="Work",
                means="Pixels that all ranks denoise, over those of the image: tiles have margins",
            ),
            point("work_multiplier", ratio),
        ),
        (Column(name="Doubts", means="Flags, explained below; errors", is_text=True), doubts),
    ]
    return laid_out("Strong scaling of an iteration", HEAD, named(parts, parts.points), columns)


def components(parts: Parts) -> Table | None:
    """Components of an iteration at every N."""
    columns: Columns = [
        (RANKS, point("workers", str)),
        *(
            (
                Column(
                    name=f"{titled(NAMES[name])} (ms)",
                    means="Mean of the ranks: median over iterations, and share of the time of all "
                    f"iterations{_means(name)}",
                ),
                _with_share(parts, name),
            )
            for name in COMPONENTS
        ),
        (
            Column(name="Rest", means="In no component: the largest share of any rank's iteration"),
            point("rest_share", _fine_percent),
        ),
        (
            Column(
                name=f"{titled(NAMES[OBJECTIVE])} (ms)", means="Computed after iterations, apart"
            ),
            component(parts, OBJECTIVE, "mean_seconds", milliseconds),
        ),
    ]
    return laid_out("Components of an iteration", HEAD, named(parts, parts.timed), columns)


def speedups(parts: Parts) -> Table | None:
    """Speedup of each component that one rank has too."""
    columns: Columns = [(RANKS, point("workers", str))]
    for name in COMPUTED:
        columns += [
            (
                Column(
                    name=f"{titled(NAMES[name])}: speedup",
                    means="Of the rank that takes longest, over N0; 95 % interval",
                ),
                speedup(parts, name),
            ),
            (
                Column(name="Efficiency", means="Speedup x N0/N"),
                component(parts, name, "efficiency", ratio),
            ),
        ]
    columns.append(
        (
            Column(name="Work-normalised", means="Of the denoiser: for as many denoised pixels"),
            component(parts, "denoiser", "normalised_efficiency", ratio),
        )
    )
    return laid_out("Strong scaling of components", HEAD, named(parts, parts.timed), columns)


def sharing(parts: Parts) -> Table | None:
    """Balance of the ranks, exchange between them, and memory of each."""
    columns: Columns = [
        (RANKS, point("workers", str)),
        (Column(name="Tiles", means="Of all ranks"), point("tiles", str)),
        (
            Column(name="Tile (px)", means="Length without margin; none where it is not cut"),
            point("tile_px", str),
        ),
        (
            Column(name="Tiles' balance", means="Mean number of tiles of a rank over the largest"),
            of_several("tiles_balance", ratio),
        ),
        (
            Column(
                name="Balance",
                means="Mean time of gradient and denoiser over the longest, of ranks",
            ),
            of_several("balance", ratio),
        ),
        (
            Column(
                name="Collectives",
                means="Exchange of the gradient and gathering of tiles: share of ranks' time",
            ),
            of_several("collectives_share", percent),
        ),
        (
            Column(name="Waiting", means="For other ranks: share of ranks' time"),
            of_several("barrier_share", percent),
        ),
        (
            Column(name="Memory (GiB)", means="Peak of a rank: of the GPU's, or else"),
            point("memory_peak_bytes", gib),
        ),
        (
            Column(name="Of (GiB)", means="Least memory of a rank"),
            point("memory_total_bytes", gib),
        ),
        (
            Column(name="Set-up (s)", means="Image, physics and network, before any iteration"),
            point("setup_s", number),
        ),
        (
            Column(name="Device", is_text=True),
            lambda row: (row["device_name"] or row["device"] or ABSENT,),
        ),
        (
            Column(name="By", means="Transport of tensors between ranks", is_text=True),
            lambda row: (row["backend"] or ABSENT,),
        ),
    ]
    return laid_out("Balance, exchange and memory", HEAD, named(parts, parts.timed), columns)


def _with_share(parts: Parts, name: str) -> Writer:
    seconds = component(parts, name, "mean_seconds", milliseconds)
    share = component(parts, name, "share", percent)

    def write(row: Row) -> Cell:
        found = seconds(row)
        return found if found == (ABSENT,) else (*found, " (", *share(row), ")")

    return write


def _fine_percent(value: float) -> str:
    return f"{100 * value:.2g} %"


def _means(name: str) -> str:
    return {
        "gradient": "; physics of the rank's operators",
        "denoiser": "; of the rank's tiles",
        "communication": "; begun when all ranks were ready",
        "gather": "; begun when all ranks were ready",
        "barrier": "; until the slowest rank is ready",
    }[name]


def named(parts: Parts, rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Put the name of its reconstruction before every row."""
    return [(parts.names[row["stage"]], row) for row in rows]
