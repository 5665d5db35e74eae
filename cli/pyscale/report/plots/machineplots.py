"""Plots of the machine: storage, readers, codecs, kernels, and node beside node."""

from __future__ import annotations

from pyscale.analysis.machine.nodes import FAST, SLOW
from pyscale.report.machine.words import MODES
from pyscale.report.plots.machinerows import (
    KINDS,
    codec_rows,
    drawn_benches,
    kernel_rows,
    node_rows,
    reader_rows,
    storage_rows,
)
from pyscale.report.plots.plot import NO_BARS, Along, Plot, Row, Value, told_by
from pyscale.report.results import Results
from pyscale.report.wording import listing

MEDIANS = "Marks: medians over trials, each a process of its own."
BARS = f"Bars: 95 % intervals of the median by order statistics; {NO_BARS}"
RATE = Value(column="rate", title="MB/s")
RATED = {"rated": "Rate", "sure": "95 % interval", "timed": "Trials", "doubts": "Doubts"}
ABSENT = "{}: it needs a run with tests of the machine, on few nodes"


def storage(results: Results) -> Plot:
    """Bandwidth of everything that one reader read or wrote."""
    rows = storage_rows(drawn_benches(results))
    proof = (
        "all of them that was verified."
        if all(row["state"] != "evicted, unverified" for row in rows)
        else "some of them nothing proves that they were gone (see the table)."
    )
    return Plot(
        id="machinestorage",
        title="What one reader gets",
        dataset="machine_storage",
        rows=rows,
        along=Along(column="what", kind="names"),
        value=RATE,
        series="mode",
        known=[*MODES.values(), "written"],
        seen={"what": "What", "state": "Page cache", "random": "Reads", **RATED},
        sentences=[
            f"{MEDIANS} A read is cold where its files were driven out of this node's page cache; "
            f"for {proof} Warm reads come from this node's memory.",
            BARS,
        ],
        told=told_by(rows, "curve", lambda row: f"{row['what']}, {row['mode']}: {row['rated']}"),
        absent=ABSENT.format("the bandwidth of a storage"),
    )


def kernels(results: Results) -> Plot:
    """Time of every kernel on every device of one node; of several, their ratios are drawn."""
    rows = kernel_rows(drawn_benches(results))
    return Plot(
        id="machinekernels",
        title="Time of compute kernels",
        dataset="machine_kernels",
        rows=rows,
        along=Along(column="test", kind="names"),
        value=Value(column="wall_s", title="Time (s)"),
        series="device",
        known=list(dict.fromkeys(row["device"] for row in rows)),
        seen={
            "test": "Test",
            "device": "On",
            "took": "Time",
            "rated": "Rate",
            "shared": "Share of all",
            "bottleneck": "Likely bottleneck",
            "doubts": "Doubts",
        },
        sentences=[f"{MEDIANS} First calls are left out.", BARS],
        told=told_by(rows, "curve", lambda row: f"{row['test']} on {row['device']}: {row['took']}"),
        absent=ABSENT.format("compute kernels"),
    )


def readers(results: Results) -> Plot:
    """Bandwidth of 1 to N readers together."""
    return _over(
        "readers",
        "Several readers at once",
        "Readers at once",
        "Rates are of all readers together, each a process with a share of the files.",
        reader_rows(drawn_benches(results)),
    )


def codecs(results: Results) -> Plot:
    """Rate of decoding over the number of threads, a line a codec."""
    return _over(
        "codecs",
        "Decoding over threads",
        "Threads that decode",
        "Rates are of decoded pixels, from memory to memory, of all threads together.",
        codec_rows(drawn_benches(results)),
    )


def _over(name: str, title: str, along: str, meaning: str, rows: list[Row]) -> Plot:
    """Rates over how many did it at once."""
    return Plot(
        id=f"machine{name}",
        title=title,
        dataset=f"machine_{name}",
        rows=rows,
        along=Along(column="at_once", title=along),
        value=RATE,
        series="line",
        known=list(dict.fromkeys(row["line"] for row in rows)),
        seen={"line": "What", "at_once": "At once", **RATED},
        sentences=[f"{MEDIANS} {meaning}", BARS],
        told=told_by(rows, "line", lambda row: f"{row['rated']} by {row['at_once']}"),
        absent=ABSENT.format(name),
        is_joined=True,
    )


def nodes(results: Results) -> Plot:
    """Every node's rates over the medians of all nodes."""
    rows = node_rows(results)
    apart = [f"{row['node']} {row['told']} in {row['test']}" for row in rows if row["apart"]]
    return Plot(
        id="machinenodes",
        title="Node beside node",
        dataset="machine_nodes",
        rows=rows,
        along=Along(column="node", kind="names"),
        value=Value(column="ratio", title="Of the median of all nodes", scale="log2"),
        series="kind",
        known=list(KINDS.values()),
        seen={"node": "Node", "test": "Test", "told": "Of the median", "hardware": "Hardware"},
        sentences=[
            "Marks: a test each, its rate on this node over the median of all nodes (dashed).",
            f"Rings: stands apart, below {SLOW:g} or above {FAST:g}, with an interval that leaves "
            "1 out.",
        ],
        told=f"Apart: {listing(apart)}." if apart else "None stands apart.",
        absent=ABSENT.format("several nodes"),
        level="median",
        ringed="apart",
    )
