"""Configurations of ranks in words: how many ranks and trials, and their doubts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pyscale.analysis.flags import flags_of
from pyscale.report.page.values import Row
from pyscale.wording import at_each_n, listing, of_each
from pyscale_stages.wording import plural


def told_doubts(row: Row) -> str:
    """Flags of a configuration."""
    return ", ".join(flags_of(row))


def failed(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name every configuration that failed, with its error."""
    for name, row in named(points, names):
        if row["error"]:
            yield f"{name} at N = {row['workers']} failed: {row['error']}"


def trials_of(points: Sequence[Row]) -> str:
    """State the numbers of ranks and of trials."""
    counts = sorted({row["workers"] for row in points})
    on = plural(counts[0], "rank") if len(counts) == 1 else f"N = {listing(counts)} ranks"
    return f"on {on}, {of_each(row['repeats'] for row in points)}"


def named(rows: Iterable[Row], names: Mapping[str, str]) -> list[tuple[str, Row]]:
    """Put its name before every row."""
    return [(names[row["stage"]], row) for row in rows]


def places(names: Mapping[str, str]) -> Callable[[list[Row]], list[str]]:
    """Name configurations, each once with all its N."""
    return lambda rows: at_each_n((names[row["stage"]], row["workers"]) for row in rows)
