"""Tables of loading patches, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyscale.analysis.aggregate import folded
from pyscale.report.loader.cells import (
    Writer,
    cache,
    doubts,
    fed,
    in_unit,
    interval,
    of_several,
    point,
    rank,
)
from pyscale.report.loader.words import MILLI
from pyscale.report.machine.tables import laid_out
from pyscale.report.ofranks import Row
from pyscale.report.page.table import Column, Table
from pyscale.report.wording import ABSENT, gib, number, percent, ratio
from pyscale_stages.loading import Loading

Columns = list[tuple[Column, Writer]]
HEAD = "Configuration"
MEASURED = Column(
    name="Measured (patches/s)",
    means="Of all ranks in step: every rank waits for the slowest after each batch, as training "
    "does; median over trials, 95 % interval",
)


def rates(points: Sequence[Row], names: Mapping[str, str]) -> Table | None:
    """Rate of each configuration; failed ones with their error."""
    columns: Columns = [
        _ranks_column(),
        (Column(name="Trials", means="Timed, of all trials"), point("repeats", str)),
        (MEASURED, lambda row: interval(row, "patches_per_s")),
        (
            Column(
                name="Inferred",
                means="What others publish: N times the slowest rank, each rank timed by itself",
            ),
            lambda row: interval(row, "inferred_per_s"),
        ),
        (
            Column(
                name="Of inferred",
                means="Measured over inferred: the effect of ranks' waits; 95 % interval",
            ),
            lambda row: interval(row, "effective_over_inferred", ratio),
        ),
        (
            Column(name="Aggregate", means="Sum of the rates of the ranks, each by itself"),
            point("aggregate_per_s", number),
        ),
        (
            Column(name="Slowest rank", means="Rate by itself"),
            point("slowest_per_s", number),
        ),
        (
            Column(name="Behind", means="Gap of the slowest rank below the middle one"),
            of_several("straggling", percent),
        ),
        (
            Column(
                name="Feeds",
                means="Whether the rate covers the patches/s that training takes of all ranks",
                is_text=True,
            ),
            fed,
        ),
        (
            Column(
                name="Page cache",
                means="Before each trial, or each window that slides were evicted for",
                is_text=True,
            ),
            cache,
        ),
        (Column(name="Doubts", means="Flags, explained below; errors", is_text=True), doubts),
    ]
    return laid_out("Patches a second", HEAD, _named(points, names), columns)


def waits(points: Sequence[Row], names: Mapping[str, str]) -> Table | None:
    """Waits for a batch, memory, storage and cores of loading, as its record declares."""
    columns: Columns = [
        _ranks_column(),
        *(
            (Column(name=each.shown, means=each.means), in_unit(each.shown, column))
            for column, each in folded(Loading).items()
            if each.shown
        ),
    ]
    return laid_out("Waiting, memory and storage", HEAD, _timed(points, names), columns)


def diversity(points: Sequence[Row], names: Mapping[str, str], keep: float) -> Table | None:
    """Diversity of the patches of each configuration, beside its rate."""
    known = [row for row in points if row["effective_slides"] is not None]
    columns: Columns = [
        _ranks_column(),
        (MEASURED, lambda row: interval(row, "patches_per_s")),
        (
            Column(
                name="Effective slides",
                means="Slides of equal share that would be as diverse, in 1,000 patches of each "
                "rank; of all ranks together",
            ),
            point("effective_slides", number),
        ),
        (
            Column(name="Slides in a batch", means="Mean, of all ranks"),
            point("slides_per_batch", number),
        ),
        (
            Column(
                name="Distance (px)",
                means="Mean between patches of one slide in a batch, in pixels of its largest "
                "level",
            ),
            point("distance_px", number),
        ),
        (
            Column(name="Patches", means="From which diversity is known"),
            point("diversity_patches", str),
        ),
        (
            Column(
                name=f"Keeps {percent(keep)}",
                means="Of the most effective slides that any configuration has at this N",
                is_text=True,
            ),
            lambda row: ({True: "yes", False: "no"}.get(row["keeps_diversity"], ABSENT),),
        ),
        (
            Column(
                name="On the front",
                means="No configuration at this N is both faster and more diverse",
                is_text=True,
            ),
            lambda row: ({True: "yes", False: "no"}.get(row["on_front"], ABSENT),),
        ),
    ]
    return laid_out("Diversity beside speed", HEAD, _timed(known, names), columns)


def of_ranks(rows: Sequence[Row], names: Mapping[str, str]) -> Table | None:
    """Rate of each rank by itself."""
    columns: Columns = [
        (Column(name="N", means="Ranks that load at once"), rank("workers", str)),
        (Column(name="Rank"), rank("rank", str)),
        (Column(name="Node", is_text=True), lambda row: (row["node"] or ABSENT,)),
        (Column(name="Slides", means="Read by this rank"), rank("slides", str)),
        (
            Column(name="Patches/s", means="By itself; median over trials"),
            rank("patches_per_s", number),
        ),
        *(
            (
                Column(name=f"p{share} (ms)", means=f"Wait that {share} % do not exceed"),
                rank(f"wait_p{share}_s", number, MILLI),
            )
            for share in (50, 95, 99)
        ),
        (
            Column(name="Memory (GiB)", means="Of its processes (PSS)"),
            rank("pss_bytes", gib),
        ),
    ]
    # `laid_out` asks every row for its flags.
    return laid_out(
        "Rank by rank",
        HEAD,
        [(names.get(row["stage"], row["stage"]), row | {"flags": None}) for row in rows],
        columns,
    )


def _ranks_column() -> tuple[Column, Writer]:
    return Column(name="N", means="Ranks: processes that load at once"), point("workers", str)


def _named(points: Sequence[Row], names: Mapping[str, str]) -> list[tuple[str, Row]]:
    return [(names[row["stage"]], row) for row in points]


def _timed(points: Sequence[Row], names: Mapping[str, str]) -> list[tuple[str, Row]]:
    """Configurations that delivered anything: the others stand in the first table."""
    return _named([row for row in points if row["patches_per_s"] is not None], names)
