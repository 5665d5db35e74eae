"""Figures of the machine: storage, readers, codecs, kernels, and node beside node."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.machine.nodes import FAST, SLOW
from pyscale.report.charts.machinerows import (
    HERE,
    KINDS,
    codec_rows,
    drawn_benches,
    kernel_rows,
    node_rows,
    reader_rows,
    storage_rows,
)
from pyscale.report.figures.dots import Looks, dots, over_counts
from pyscale.report.figures.house import IDEAL_LINE, NothingToDrawError, Width
from pyscale.report.machine.words import MODES
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot

MEDIANS = "Marks: medians over trials, each a process of its own."
BARS = (
    "Bars: 95 % intervals of the median by order statistics; none where fewer than "
    f"{repeats_needed()} trials timed a test."
)


def machine_storage(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw what one reader gets of each kind of file, cold, warm and past the page cache.

    Parameters
    ----------
    results : Results
        With tests of the machine.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no storage was measured, or on too many nodes to draw each.
    """
    rows = storage_rows(drawn_benches(results))
    _refuse_none(rows, results, "the bandwidth of a storage")
    unproved = " A read is cold where its files were driven out of this node's page cache; for " + (
        "all of them that was verified."
        if all(row["state"] != "evicted, unverified" for row in rows)
        else "some of them nothing proves that they were gone (see the table)."
    )
    return dots(
        rows,
        y="what",
        x="rate",
        x_title="MB/s",
        looks=Looks.of(rows, "mode", (*MODES.values(), "written")),
        sentences=(f"{MEDIANS}{unproved}", BARS),
        width_mm=width_mm,
    )


def machine_kernels(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the time of every compute kernel on every device of one node.

    Parameters
    ----------
    results : Results
        With tests of the machine.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no kernel was timed, or on several nodes.
    """
    rows = kernel_rows(drawn_benches(results))
    _refuse_none(rows, results, "compute kernels")
    return dots(
        rows,
        y="test",
        x="wall_s",
        x_title="Time (s)",
        looks=Looks.of(rows, "device", list(dict.fromkeys(row["device"] for row in rows))),
        sentences=(f"{MEDIANS} First calls are left out.", BARS),
        width_mm=width_mm,
    )


def machine_nodes(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw every node's rates over the medians of all nodes.

    Parameters
    ----------
    results : Results
        With tests of a machine with several nodes.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where fewer than two nodes did the same test.
    """
    from plotnine import geom_vline

    rows = [row | {"node": row["curve"], "curve": HERE} for row in node_rows(results)]
    _refuse_none(rows, results, "several nodes")
    plot = dots(
        rows,
        y="node",
        x="ratio",
        x_title="Of the median of all nodes",
        looks=Looks.of(rows, "kind", tuple(KINDS.values())),
        sentences=(
            "Marks: a test each, its rate on this node over the median of all nodes (dashed).",
            f"Rings: stands apart, below {SLOW:g} or above {FAST:g}, with an interval that leaves "
            "1 out.",
        ),
        width_mm=width_mm,
        with_bars=False,
        apart="apart",
    )
    return plot + geom_vline(xintercept=1, **IDEAL_LINE)


def machine_readers(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the bandwidth of 1 to N readers together.

    Parameters
    ----------
    results : Results
        With tests of the machine.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where there is no more than one number of readers, or there are too many nodes.
    """
    rows = reader_rows(drawn_benches(results))
    _refuse_none(rows, results, "several readers")
    return over_counts(
        rows,
        "Readers at once",
        Looks.of(rows, "line", tuple(MODES.values())),
        (f"{MEDIANS} Rates are of all readers together.", BARS),
        width_mm,
    )


def machine_codecs(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the rate of decoding over the number of threads, a line a codec.

    Parameters
    ----------
    results : Results
        With tests of the machine.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where nothing was decoded, or there are too many nodes.
    """
    rows = codec_rows(drawn_benches(results))
    _refuse_none(rows, results, "decoding")
    names = list(dict.fromkeys(row["line"] for row in rows))
    return over_counts(
        rows,
        "Threads that decode",
        Looks.of(rows, "line", names),
        (f"{MEDIANS} Rates are of decoded pixels, from memory to memory.", BARS),
        width_mm,
    )


def _refuse_none(rows: list[dict[str, object]], results: Results, what: str) -> None:
    if not rows:
        raise NothingToDrawError(
            f"there is no figure of {what} in {results.context.title}: it needs a run with tests "
            "of the machine, on few nodes"
        )
