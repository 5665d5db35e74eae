"""Tables of loading patches, each number tied to the CSV that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyscale.analysis.aggregate import folded
from pyscale.report.machine.words import MEGA, STATES
from pyscale.report.page.table import Column, Columns, Table, laid_out, numbers, words, yes_no
from pyscale.report.page.values import LOADER, LOADER_RANKS, Cell, Row, Written
from pyscale.report.ranks.words import told_doubts
from pyscale.report.wording import ABSENT, gib, number, percent, ratio
from pyscale_stages.loading import Loading

HEAD = "Configuration"
MILLI, KILO = 1e-3, 1e3
UNITS: dict[str, tuple[Written, float | None]] = {
    "ms": (number, MILLI),
    "kB": (number, KILO),
    "MB": (number, MEGA),
    "GiB": (gib, None),
}
"""How numbers are written in the unit that a column's head has in brackets, and its size."""
Rows = Sequence[tuple[str, Row]]
"""Rows of configurations, each with its name."""


def _rate(row: Row) -> Cell:
    """Write the measured rate; what has none says why."""
    if row["patches_per_s"] is None and row["failed"]:
        return ("failed",)
    return LOADER.interval_cell(row, "patches_per_s")


RANKS = numbers("N", LOADER.plain("workers", str), "Ranks: processes that load at once")
MEASURED = numbers(
    "Measured (patches/s)",
    _rate,
    "Of all ranks in step: every rank waits for the slowest after each batch, as training does; "
    "median over trials, 95 % interval",
)


def short(rows: Rows) -> Table | None:
    """Lay out the columns that a terminal has room for."""
    columns: Columns = [
        numbers("N", LOADER.plain("workers", str)),
        numbers("patches/s\n[95 %]", _rate),
        numbers("inferred", LOADER.plain("inferred_per_s")),
        numbers("wait p99\nms", LOADER.plain("wait_p99_s", number, MILLI)),
        numbers("memory\nGiB", LOADER.plain("pss_bytes", gib)),
        numbers("storage\nkB/patch", LOADER.plain("storage_read_bytes_per_patch", number, KILO)),
        numbers("effective\nslides", LOADER.plain("effective_slides")),
        numbers("feeds", lambda row: (row["feeds"] or ABSENT,)),
    ]
    return laid_out("", rows, columns, head="configuration")


def rates(rows: Rows) -> Table | None:
    """Rate of each configuration; failed ones with their error."""
    columns: Columns = [
        RANKS,
        numbers("Trials", LOADER.plain("repeats", str), "Timed, of all trials"),
        MEASURED,
        numbers(
            "Inferred",
            LOADER.interval("inferred_per_s"),
            "What others publish: N times the slowest rank, each rank timed by itself",
        ),
        numbers(
            "Of inferred",
            LOADER.interval("effective_over_inferred", ratio),
            "Measured over inferred: the effect of ranks' waits; 95 % interval",
        ),
        numbers(
            "Aggregate",
            LOADER.plain("aggregate_per_s"),
            "Sum of the rates of the ranks, each by itself",
        ),
        numbers("Slowest rank", LOADER.plain("slowest_per_s"), "Rate by itself"),
        numbers(
            "Behind",
            LOADER.of_several("straggling", percent),
            "Gap of the slowest rank below the middle one",
        ),
        (
            Column(
                name="Feeds",
                means="Whether the rate covers the patches/s that training takes of all ranks",
                is_text=True,
            ),
            _fed,
        ),
        words(
            "Page cache",
            lambda row: STATES.get(row["cache_state"] or "", row["cache_state"]),
            "Before each trial, or each window that slides were evicted for",
        ),
        words("Doubts", told_doubts, "Flags, explained below; errors"),
    ]
    return laid_out("Patches a second", rows, columns, head=HEAD)


def waits(rows: Rows) -> Table | None:
    """Waits for a batch, memory, storage and cores of loading, as its record declares."""
    columns: Columns = [
        RANKS,
        *(
            numbers(each.shown, LOADER.plain(column, *_in_unit(each.shown)), each.means)
            for column, each in folded(Loading).items()
            if each.shown
        ),
    ]
    return laid_out("Waiting, memory and storage", _timed(rows), columns, head=HEAD)


def diversity(rows: Rows, keep: float) -> Table | None:
    """Diversity of the patches of each configuration, beside its rate."""
    known = [(name, row) for name, row in rows if row["effective_slides"] is not None]
    columns: Columns = [
        RANKS,
        MEASURED,
        numbers(
            "Effective slides",
            LOADER.plain("effective_slides"),
            "Slides of equal share that would be as diverse, in 1,000 patches of each rank; of all "
            "ranks together",
        ),
        numbers("Slides in a batch", LOADER.plain("slides_per_batch"), "Mean, of all ranks"),
        numbers(
            "Distance (px)",
            LOADER.plain("distance_px"),
            "Mean between patches of one slide in a batch, in pixels of its largest level",
        ),
        numbers("Patches", LOADER.plain("diversity_patches", str), "From which diversity is known"),
        words(
            f"Keeps {percent(keep)}",
            lambda row: yes_no(row["keeps_diversity"]),
            "Of the most effective slides that any configuration has at this N",
        ),
        words(
            "On the front",
            lambda row: yes_no(row["on_front"]),
            "No configuration at this N is both faster and more diverse",
        ),
    ]
    return laid_out("Diversity beside speed", _timed(known), columns, head=HEAD)


def of_ranks(rows: Rows) -> Table | None:
    """Rate of each rank by itself."""
    columns: Columns = [
        numbers("N", LOADER_RANKS.plain("workers", str), "Ranks that load at once"),
        numbers("Rank", LOADER_RANKS.plain("rank", str)),
        words("Node", lambda row: row["node"]),
        numbers("Slides", LOADER_RANKS.plain("slides", str), "Read by this rank"),
        numbers("Patches/s", LOADER_RANKS.plain("patches_per_s"), "By itself; median over trials"),
        *(
            numbers(
                f"p{share} (ms)",
                LOADER_RANKS.plain(f"wait_p{share}_s", number, MILLI),
                f"Wait that {share} % do not exceed",
            )
            for share in (50, 95, 99)
        ),
        numbers("Memory (GiB)", LOADER_RANKS.plain("pss_bytes", gib), "Of its processes (PSS)"),
    ]
    return laid_out("Rank by rank", rows, columns, head=HEAD)


def published(
    title: str, rows: Sequence[Row], points: Sequence[Row], names: Mapping[str, str]
) -> Table | None:
    """Published rates beside those of the same settings here."""
    own = {(row["stage"], row["workers"]): row for row in points}
    columns: Columns = [
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
    both = [(names[row["stage"]], row | own[row["stage"], row["workers"]]) for row in rows]
    return laid_out(title, both, columns, head=HEAD)


def _fed(row: Row) -> Cell:
    """Say whether what training takes is delivered, and how much that is."""
    if row["feeds"] is None:
        return (ABSENT,)
    return (f"{row['feeds']}, takes ", *LOADER.cell(row, "consumed_per_s"))


def _in_unit(head: str) -> tuple[Written, float | None]:
    return UNITS[re.split(r"[(/)]", head)[1]]


def _timed(rows: Rows) -> Rows:
    """Configurations that delivered anything: the others stand in the first table."""
    return [(name, row) for name, row in rows if row["patches_per_s"] is not None]
