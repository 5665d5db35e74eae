"""Tables of reconstruction over ranks, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.report.ofranks import told_doubts
from pyscale.report.page.table import Columns, Table, laid_out, numbers, words
from pyscale.report.page.values import RECONSTRUCTIONS, Cell, Row, Writer
from pyscale.report.reconstruct.cells import component, iteration, milliseconds, speedup
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import COMPUTED, NAMES, OBJECTIVE, TOTAL, titled
from pyscale.report.wording import ABSENT, gib, percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

HEAD = "Reconstruction"
OF = RECONSTRUCTIONS
RANKS = numbers("N", OF.plain("workers", str), "Ranks, each with its own GPU or cores")


def scaling(parts: Parts) -> Table | None:
    """Speedup of an iteration; failed configurations with their error."""
    columns: Columns = [
        RANKS,
        numbers("Trials", OF.plain("repeats", str), "Timed"),
        numbers(
            "Iteration (ms)",
            iteration,
            "Of the rank that takes longest: median over trials of the median over iterations, "
            "95 % interval",
        ),
        numbers(
            "Speedup",
            speedup(parts, TOTAL),
            "Over the fewest ranks with a time, N0; 95 % interval",
        ),
        numbers("Efficiency", component(parts, TOTAL, "efficiency", ratio), "Speedup x N0/N"),
        numbers(
            "Work-normalised",
            component(parts, TOTAL, "normalised_efficiency", ratio),
            "Efficiency for as many denoised pixels: times the work at N over that at N0",
        ),
        numbers(
            "Work",
            OF.plain("work_multiplier", ratio),
            "Pixels that all ranks denoise, over those of the image: tiles have margins",
        ),
        words("Doubts", told_doubts, "Flags, explained below; errors"),
    ]
    rows = named(parts, parts.points)
    return laid_out("Strong scaling of an iteration", rows, columns, head=HEAD)


def components(parts: Parts) -> Table | None:
    """Components of an iteration at every N."""
    columns: Columns = [
        RANKS,
        *(
            numbers(
                f"{titled(NAMES[name])} (ms)",
                _with_share(parts, name),
                "Mean of the ranks: median over iterations, and share of the time of all "
                f"iterations{_means(name)}",
            )
            for name in COMPONENTS
        ),
        numbers(
            "Rest",
            OF.plain("rest_share", lambda share: f"{100 * share:.2g} %"),
            "In no component: the largest share of any rank's iteration",
        ),
        numbers(
            f"{titled(NAMES[OBJECTIVE])} (ms)",
            component(parts, OBJECTIVE, "mean_seconds", milliseconds),
            "Computed after iterations, apart",
        ),
    ]
    return laid_out("Components of an iteration", named(parts, parts.timed), columns, head=HEAD)


def speedups(parts: Parts) -> Table | None:
    """Speedup of each component that one rank has too."""
    columns: Columns = [RANKS]
    for name in COMPUTED:
        columns += [
            numbers(
                f"{titled(NAMES[name])}: speedup",
                speedup(parts, name),
                "Of the rank that takes longest, over N0; 95 % interval",
            ),
            numbers("Efficiency", component(parts, name, "efficiency", ratio), "Speedup x N0/N"),
        ]
    columns.append(
        numbers(
            "Work-normalised",
            component(parts, "denoiser", "normalised_efficiency", ratio),
            "Of the denoiser: for as many denoised pixels",
        )
    )
    return laid_out("Strong scaling of components", named(parts, parts.timed), columns, head=HEAD)


def sharing(parts: Parts) -> Table | None:
    """Balance of the ranks, exchange between them, and memory of each."""
    columns: Columns = [
        RANKS,
        numbers("Tiles", OF.plain("tiles", str), "Of all ranks"),
        numbers(
            "Tile (px)", OF.plain("tile_px", str), "Length without margin; none where it is not cut"
        ),
        numbers(
            "Tiles' balance",
            OF.of_several("tiles_balance", ratio),
            "Mean number of tiles of a rank over the largest",
        ),
        numbers(
            "Balance",
            OF.of_several("balance", ratio),
            "Mean time of gradient and denoiser over the longest, of ranks",
        ),
        numbers(
            "Collectives",
            OF.of_several("collectives_share", percent),
            "Exchange of the gradient and gathering of tiles: share of ranks' time",
        ),
        numbers(
            "Waiting",
            OF.of_several("barrier_share", percent),
            "For other ranks: share of ranks' time",
        ),
        numbers(
            "Memory (GiB)",
            OF.plain("memory_peak_bytes", gib),
            "Peak of a rank: of the GPU's, or else",
        ),
        numbers("Of (GiB)", OF.plain("memory_total_bytes", gib), "Least memory of a rank"),
        numbers(
            "Set-up (s)", OF.plain("setup_s"), "Image, physics and network, before any iteration"
        ),
        words("Device", lambda row: row["device_name"] or row["device"]),
        words("By", lambda row: row["backend"], "Transport of tensors between ranks"),
    ]
    return laid_out("Balance, exchange and memory", named(parts, parts.timed), columns, head=HEAD)


def _with_share(parts: Parts, name: str) -> Writer:
    seconds = component(parts, name, "mean_seconds", milliseconds)
    share = component(parts, name, "share", percent)

    def write(row: Row) -> Cell:
        found = seconds(row)
        return found if found == (ABSENT,) else (*found, " (", *share(row), ")")

    return write


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
