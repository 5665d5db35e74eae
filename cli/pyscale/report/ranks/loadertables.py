"""Tables of loading patches, each number tied to the CSV that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyscale.analysis.aggregate import folded
from pyscale.report.dictionary import WAYS
from pyscale.report.page.values import (
    LOADER,
    LOADER_RANKS,
    Cell,
    Columns,
    Row,
    Table,
    laid_out,
    numbers,
    words,
    yes_no,
)
from pyscale.report.sentences import told_doubts
from pyscale.wording import ABSENT, gib, number, percent
from pyscale_stages.loading import Loading

HEAD = "Configuration"
Rows = Sequence[tuple[str, Row]]
"""Rows of configurations, each with its name."""


def _rate(row: Row) -> Cell:
    if row["patches_per_s"] is None and row["failed"]:
        return ("failed",)
    return LOADER.interval_cell(row, "patches_per_s")


def short(rows: Rows) -> Table | None:
    """Lay out the columns that a terminal has room for."""
    columns: Columns = [
        numbers("N", LOADER.plain("workers", str)),
        numbers("patches/s\n[95 %]", _rate),
        numbers("inferred", LOADER.plain("inferred_per_s")),
        numbers("wait p99\nms", LOADER.plain("wait_p99_s", WAYS["ms"])),
        numbers("memory\nGiB", LOADER.plain("pss_bytes", gib)),
        numbers("storage\nkB/patch", LOADER.plain("storage_read_bytes_per_patch", WAYS["kB"])),
        numbers("effective\nslides", LOADER.plain("effective_slides")),
        numbers("feeds", lambda row: (row["feeds"] or ABSENT,)),
    ]
    return laid_out("", rows, columns, head="configuration")


def rates(rows: Rows) -> Table | None:
    """Rate of each configuration; failed ones with their error."""
    columns: Columns = [
        *LOADER.columns("workers", "repeats"),
        LOADER.column("patches_per_s", _rate),
        *LOADER.columns("inferred_per_s", "effective_over_inferred", "aggregate_per_s"),
        *LOADER.columns("slowest_per_s", "straggling"),
        LOADER.column("feeds", _fed),
        *LOADER.columns("cache_state"),
        words("Doubts", told_doubts, "Flags, explained below"),
    ]
    return laid_out("Patches a second", rows, columns, head=HEAD)


def waits(rows: Rows) -> Table | None:
    """Waits for a batch, memory, storage and cores of loading, as its record declares."""
    shown = {column: each for column, each in folded(Loading).items() if each.shown}
    columns = LOADER.columns("workers") + [
        numbers(each.shown, LOADER.plain(column, WAYS[_unit(each.shown)]), each.means)
        for column, each in shown.items()
    ]
    return laid_out("Waiting, memory and storage", _timed(rows), columns, head=HEAD)


def diversity(rows: Rows, keep: float) -> Table | None:
    """Diversity of the patches of each configuration, beside its rate."""
    known = [(name, row) for name, row in _timed(rows) if row["effective_slides"] is not None]
    columns = [
        *LOADER.columns("workers", "patches_per_s"),
        *LOADER.columns("effective_slides", "slides_per_batch", "distance_px", "diversity_patches"),
        words(
            f"Keeps {percent(keep)}",
            lambda row: yes_no(row["keeps_diversity"]),
            "Of the most effective slides that any configuration has at this N",
        ),
        *LOADER.columns("on_front"),
    ]
    return laid_out("Diversity beside speed", known, columns, head=HEAD)


def of_ranks(rows: Rows) -> Table | None:
    """Rate of each rank by itself."""
    columns = LOADER_RANKS.columns(
        *("workers", "rank", "node", "slides", "patches_per_s"),
        *("wait_p50_s", "wait_p95_s", "wait_p99_s", "pss_bytes"),
    )
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
    if row["feeds"] is None:
        return (ABSENT,)
    return (f"{row['feeds']}, takes ", *LOADER.cell(row, "consumed_per_s"))


def _unit(head: str) -> str:
    """Unit in the brackets of a head, without what it is for each of."""
    return re.split(r"[(/)]", head)[1]


def _timed(rows: Rows) -> Rows:
    """Configurations that delivered anything: the others stand in the first table."""
    return [(name, row) for name, row in rows if row["patches_per_s"] is not None]
