"""Plots of the machine: storage, readers, codecs, kernels, and node beside node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.machine.nodes import FAST, SLOW
from pyscale.report.dictionary import STATES
from pyscale.report.machine.bench import MOST_BENCHES, Bench, benches, timed
from pyscale.report.machine.testlabels import (
    CODECS,
    MEGA,
    MODES,
    doubts,
    label,
    megabytes,
    mode_of,
    name_of,
    rate,
    tag,
    what_was_read,
)
from pyscale.report.plots.plot import OF_MEDIANS, Along, Plot, Row, Value, ends_of, sure, told_by
from pyscale.report.results import Results
from pyscale.wording import interval, listing, number, percent, ratio

KINDS = {"storage": "storage", "decompress": "decompression", "kernels": "compute"}
MEDIANS = "Marks: medians over trials, each a process of its own."
PARALLEL = "parallel_read_"
RATED = {"rated": "Rate", "sure": "95 % interval", "timed": "Trials", "doubts": "Doubts"}


def _plot(name: str, absent: str | None = None, **how: Any) -> Plot:
    """Fill in what plots of the machine share, most of which show rates."""
    rates: dict[str, Any] = {"value": Value("rate", "MB/s")}
    return Plot(
        id=f"machine{name}",
        dataset=f"machine_{name}",
        absent=f"{absent or name}: it needs a run with tests of the machine, on few nodes",
        **rates | how,
    )


def _benches(results: Results) -> list[Bench]:
    """Those that are drawn each by itself: none where they are too many."""
    found = benches(results.of(MachineFindings))
    return found if len(found) <= MOST_BENCHES else []


def _rated(bench: Bench, row: Row, **more: str) -> Row:
    per_s = ends_of("rate", row, factor=1 / MEGA)
    return {
        "curve": bench.name,
        "test": name_of(row),
        "at_once": row["at_once"],
        **per_s,
        "rated": megabytes(row["rate"]),
        "sure": sure(per_s, "rate", number, "MB/s"),
        "timed": str(row["repeats"]),
        "doubts": ", ".join(doubts(row)) or "none",
        **more,
    }


def storage(results: Results) -> Plot:
    """Bandwidth of everything that one reader read or wrote."""
    rows = [
        _rated(
            bench,
            row,
            what=what_was_read(row["test"]),
            mode=MODES.get(mode_of(row["test"]) or "", "written"),
            state=STATES.get(row["cache"] or "", "no matter"),
            random=f"{number(row['iops'])} / s" if row["iops"] is not None else "not counted",
        )
        for bench in _benches(results)
        for row in timed([*bench.reads, *bench.writes])
        if row["at_once"] == 1
        and row["step"] is None
        and row["rate"] is not None
        # One reader in a process of its own: among the readers.
        and not row["test"].startswith(PARALLEL)
    ]
    proof = (
        "all of them that was verified."
        if all(row["state"] != "evicted, unverified" for row in rows)
        else "some of them nothing proves that they were gone (see the table)."
    )
    return _plot(
        "storage",
        title="What one reader gets",
        rows=rows,
        along=Along("what", kind="names"),
        series="mode",
        known=[*MODES.values(), "written"],
        seen={"what": "What", "state": "Page cache", "random": "Reads", **RATED},
        sentences=[
            f"{MEDIANS} A read is cold where its files were driven out of this node's page cache; "
            f"for {proof} Warm reads come from this node's memory.",
            OF_MEDIANS,
        ],
        told=told_by(rows, "curve", lambda row: f"{row['what']}, {row['mode']}: {row['rated']}"),
        absent="the bandwidth of a storage",
    )


def readers(results: Results) -> Plot:
    """Bandwidth of 1 to N readers together."""

    def rows(bench: Bench) -> Iterator[Row]:
        for row in timed(bench.reads):
            if row["test"].startswith(PARALLEL) and row["rate"] is not None:
                yield _rated(bench, row, line=MODES[mode_of(row["test"]) or ""])

    return _over(
        "readers",
        results,
        rows,
        title="Several readers at once",
        along=Along("at_once", "Readers at once"),
        first="Rates are of all readers together, each a process with a share of the files.",
    )


def codecs(results: Results) -> Plot:
    """Rate of decoding over the number of threads, a line a codec."""

    def rows(bench: Bench) -> Iterator[Row]:
        for name in bench.codecs:
            for row in timed(bench.codec(name, "decode")):
                yield _rated(bench, row, line=CODECS.get(name, name))

    return _over(
        "codecs",
        results,
        rows,
        title="Decoding over threads",
        along=Along("at_once", "Threads that decode"),
        first="Rates are of decoded pixels, from memory to memory, of all threads together.",
    )


def _over(
    name: str,
    results: Results,
    of_bench: Callable[[Bench], Iterator[Row]],
    *,
    first: str,
    **how: Any,
) -> Plot:
    """Rates over how many did it at once."""
    rows = [row for bench in _benches(results) for row in of_bench(bench)]
    return _plot(
        name,
        rows=rows,
        series="line",
        seen={"line": "What", "at_once": "At once", **RATED},
        sentences=[f"{MEDIANS} {first}", OF_MEDIANS],
        told=told_by(rows, "line", lambda row: f"{row['rated']} by {row['at_once']}"),
        is_joined=True,
        **how,
    )


def kernels(results: Results) -> Plot:
    """Time of every kernel on every device of one node; of several, their ratios are drawn."""
    found = _benches(results)
    rows = [
        {
            "curve": bench.name,
            "device": device,
            "test": row["test"],
            **ends_of("wall_s", row),
            "took": f"{interval(row, 'wall_s', number)} s",
            "rated": rate(row) or "not told",
            "shared": percent(row["percent"]),
            "bottleneck": tag(row),
            "doubts": ", ".join(doubts(row)) or "none",
        }
        for bench in (found if len(found) == 1 else [])
        for device, own in bench.kernels.items()
        for row in timed(own)
    ]
    return _plot(
        "kernels",
        title="Time of compute kernels",
        rows=rows,
        along=Along("test", kind="names"),
        value=Value("wall_s", "Time (s)"),
        series="device",
        seen={
            "test": "Test",
            "device": "On",
            "took": "Time",
            "rated": "Rate",
            "shared": "Share of all",
            "bottleneck": "Likely bottleneck",
            "doubts": "Doubts",
        },
        sentences=[f"{MEDIANS} First calls are left out.", OF_MEDIANS],
        told=told_by(rows, "curve", lambda row: f"{row['test']} on {row['device']}: {row['took']}"),
        absent="compute kernels",
    )


def nodes(results: Results) -> Plot:
    """Every node's rates over the medians of all nodes."""
    machine = results.of(MachineFindings)
    rows = [
        {
            "curve": "",
            "node": row["node"],
            "kind": KINDS.get(row["kind"], row["kind"]),
            "test": label(row),
            "ratio": row["ratio"],
            "median": 1.0,
            "apart": bool(row["outlier"]),
            "told": interval(row, "ratio", ratio),
            "hardware": row["hardware"],
        }
        for row in (machine.nodes.to_dicts() if machine else [])
    ]
    apart = [f"{row['node']} {row['told']} in {row['test']}" for row in rows if row["apart"]]
    return _plot(
        "nodes",
        title="Node beside node",
        rows=rows,
        along=Along("node", kind="names"),
        value=Value("ratio", "Of the median of all nodes", scale="log2"),
        series="kind",
        known=list(KINDS.values()),
        seen={"node": "Node", "test": "Test", "told": "Of the median", "hardware": "Hardware"},
        sentences=[
            "Marks: a test each, its rate on this node over the median of all nodes (dashed).",
            f"Rings: stands apart, below {SLOW:g} or above {FAST:g}, with an interval that leaves "
            "1 out.",
        ],
        told=f"Apart: {listing(apart)}." if apart else "None stands apart.",
        absent="several nodes",
        level="median",
        ringed="apart",
    )
