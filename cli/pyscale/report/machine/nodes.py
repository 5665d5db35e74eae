"""Nodes compared: a table with a line for each test, and sentences on outliers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyscale.analysis.machine.nodes import FAST, LEAST_NODES, SLOW
from pyscale.report.machine.told import name_of, named
from pyscale.report.machine.words import rate_parts
from pyscale.report.page.table import Columns, Table, laid_out, numbers, words
from pyscale.report.page.values import NODES, Cell, Row
from pyscale.report.wording import listing, number, ratio, with_interval

if TYPE_CHECKING:
    from pyscale.analysis.machine.findings import MachineFindings

MOST_TESTS = 3
"""More tests in which a node is an outlier are counted; the table names it in each."""
TEST = ("stage", "workers", "device", "test", "step", "at_once")


def by_test(machine: MachineFindings) -> list[list[Row]]:
    """Rows of the comparison, a list for each test."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in machine.nodes.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in TEST), []).append(row)
    return list(found.values())


def table(machine: MachineFindings) -> Table | None:
    """Lay out every test that several nodes did."""
    columns: Columns = [
        numbers("Nodes", NODES.plain("nodes", str), "With this test"),
        numbers("Median", _median, "Of the nodes' rates, or of 1/time without an amount"),
        words("Slowest node", lambda row: row["node"]),
        numbers(
            "Its ratio",
            NODES.interval("ratio", ratio),
            "Its rate over the median of all nodes; 95 % interval",
        ),
        words("Fastest node", lambda row: row["fastest"]["node"]),
        numbers(
            "Its ratio ",
            lambda row: NODES.interval_cell(row["fastest"], "ratio", ratio),
            "The same",
        ),
        words("Outliers", lambda row: row["apart"], "Nodes whose ratio stands below"),
    ]
    rows = []
    for own in by_test(machine):
        slowest, fastest = (
            choose(own, key=lambda row: float(row["ratio"])) for choose in (min, max)
        )
        apart = ", ".join(row["node"] for row in own if row["outlier"])
        rows.append((label(own[0]), slowest | {"fastest": fastest, "apart": apart}))
    return laid_out("Nodes compared", rows, columns, head="Test")


def in_short(machine: MachineFindings) -> tuple[str, str]:
    """Name the outliers in a few words."""
    rows = machine.nodes.to_dicts()
    apart = [row for row in rows if row["outlier"]]
    nodes = list(dict.fromkeys(row["node"] for row in apart))
    if nodes:
        worst = min(apart, key=_how_near)
        verb = "is an outlier" if len(nodes) == 1 else "are outliers"
        return (
            named(nodes),
            f" {verb}; farthest {worst['node']} with {ratio(worst['ratio'])} of the "
            f"median in {label(worst)}.",
        )
    *_, last = sentences(machine)
    head, _, rest = last.partition(":")
    return head, f":{rest}"


def sentences(machine: MachineFindings) -> Iterator[str]:
    """Name every outlier, or state that there is none, or why that is unknown."""
    rows = machine.nodes.to_dicts()
    if not rows:
        return
    apart = [row for row in rows if row["outlier"]]
    for node in dict.fromkeys(row["node"] for row in apart):
        own = sorted((row for row in apart if row["node"] == node), key=_how_near)
        told = [
            f"{ratio(row['ratio'])} of the median of {row['nodes']} nodes in {label(row)} "
            f"(95 % interval {ratio(row['ratio_low'])} to {ratio(row['ratio_high'])})"
            for row in own[:MOST_TESTS]
        ]
        rest = len(own) - MOST_TESTS
        more = [f"{rest} more test{'s' * (rest > 1)}"] if rest > 0 else []
        yield f"{node} is an outlier: {listing([*told, *more])}."
    if apart:
        return
    if all(row["outlier"] is None for row in rows):
        few = max(row["nodes"] for row in rows) < LEAST_NODES
        why = (
            f"fewer than {LEAST_NODES} nodes"
            if few
            else "no test has enough trials for an interval"
        )
        yield f"Outliers unknown: {why}."
        return
    yield (
        f"No outliers: no node is below {SLOW:g} or above {FAST:g} of the median of all nodes "
        "with an interval that excludes 1."
    )


def _how_near(row: Row) -> float:
    """Order ratios from the one that is farthest from 1, in either direction."""
    found = float(row["ratio"])
    return min(found, 1 / found)


def label(row: Row) -> str:
    """Name a test, with N where it is not the number of nodes."""
    many = "" if row["workers"] in {1, row["nodes"]} else f", N = {row['workers']}"
    return f"{name_of(row)}{many}"


def _median(row: Row) -> Cell:
    scale, unit = (
        (1.0, "/s") if row["unit"] is None else rate_parts(row["median_rate"], row["unit"])
    )
    return (*NODES.cell(row, "median_rate", number, scale), f" {unit}")


def ratio_text(row: Row) -> str:
    """Write a node's ratio with its interval."""
    return with_interval(*(ratio(row[f"ratio{end}"]) for end in ("", "_low", "_high")))
