"""Charts of grids, ranks and tests of a machine, from the tables of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.analysis.machine.findings import FAST, SLOW, MachineFindings
from pyscale.analysis.ranks.reconstruct import TOTAL
from pyscale.report.charts.chart import Chart, Row
from pyscale.report.charts.marks import Marks, bars
from pyscale.report.charts.overworkers import BARS
from pyscale.report.drawnrows import (
    COMPONENT_NAMES,
    OF_LOADERS,
    OF_POINTS,
    component_rows,
    lines_of,
    loader_rows,
    point_rows,
    ratio_rows,
)
from pyscale.report.grid.sweep import Sweep, ratio_title, sweeps
from pyscale.report.machine.bench import label
from pyscale.report.palette import CALL_PARTS, colour
from pyscale.report.ranks.reconstruct import NAMES
from pyscale.report.results import Results
from pyscale.wording import phase

OF_TRIALS = "Marks: medians over trials"


def of_kinds(results: Results) -> Iterator[Chart | None]:
    """Draw every chart of work beside stages over N."""
    yield from of_grids(results)
    yield from of_reconstructions(results)
    yield pareto(results)
    if machine := results.of(MachineFindings):
        yield nodes(machine)


def of_grids(results: Results) -> Iterator[Chart | None]:
    """Times of a call over size, ratios with what they flatten at, and parts of a call."""
    found = sweeps(results.every(GridFindings))
    if not found:
        return
    shared: dict[str, Any] = {
        "along": "length_px",
        "along_title": "Side of the image (px)",
        "series": "line",
        "known": lines_of(found),
        "is_joined": True,
    }
    grey = " Grey, hollow: other machines, on work of their own: compare shapes, not times."
    others = [row for sweep in found for row in _elsewhere(sweep, results)]
    yield Marks(
        id="sizetime",
        title="Time over size",
        note=f"{OF_TRIALS}, joined by device. {BARS}{grey if others else ''}",
        axis=("Time of a call (s)", "Time per megapixel (s)"),
        table="points",
        rows=[row for sweep in found for row in point_rows(sweep)],
        seen=("curve", "line", "call_s", "each_s", *OF_POINTS),
        value="call_s",
        relative="each_s",
        elsewhere=others,
        **shared,
    ).chart()
    flat = list(_ceilings(found))
    marks = Marks(
        id="sizeratio",
        title="Speedup over size",
        note=f"{OF_TRIALS}' ratios; dashed at 1: as fast. {BARS}"
        + (" Dotted line and band: what the ratio flattens at." if flat else ""),
        axis=(ratio_title(line.base for sweep in found for line in sweep.compared),) * 2,
        table="ratios",
        rows=ratio_rows(found),
        seen=("curve", "line", "length_px", "ratio", "base", "base_s", "value_s", "trials"),
        value="ratio",
        scale="linear",
        elsewhere=[row for row in others if row["ratio"] is not None],
        **shared,
    )
    law = marks.law("ceilings") if flat else []
    yield marks.chart([marks.across("1"), *law], ceilings=flat)
    parts: list[Row] = [
        {"curve": sweep.name, "line": line.name, "order": order}
        | {"panel": line.name if len(found) == 1 else f"{sweep.name}: {line.name}"}
        | {n: row[n] for n in ("length_px", "part", "part_s", "share", "part_ratio")}
        for sweep in found
        for line in sweep.lines
        for point in line.points
        for order, row in enumerate(point["parts"])
        if row["part_s"] > 0
    ]
    names = list(dict.fromkeys(row["part"] for row in parts))
    yield bars(
        "callparts",
        "What a call consists of",
        "One call, the median of each part; stacked from the axis in the order of the legend.",
        [row | {"part": phase(row["part"])} for row in parts],
        axis=("Seconds of a call", "Share of a call"),
        parts={
            phase(name): f"part-{name}" if name == UNATTRIBUTED else f"call-{i % len(CALL_PARTS)}"
            for i, name in enumerate(names)
        },
        table="parts",
        value="part_s",
        relative="share",
        seen=("part_s", "share", "part_ratio"),
        along="length_px",
        along_title="Side of the image (px)",
    )


def _elsewhere(sweep: Sweep, results: Results) -> Iterator[Row]:
    for reference, grid in results.beside.get("grid", ()):
        told = {"curve": sweep.name, "title": reference.title, "source": reference.source}
        yield from (row | told for other in sweeps([grid]) for row in point_rows(other))


def _ceilings(found: list[Sweep]) -> Iterator[Row]:
    """Where ratios end that flatten, at the smallest and the largest size that was measured."""
    for sweep in found:
        for line in sweep.compared:
            one = line.ceilings.get(sweep.measure)
            if one is not None and one.shape == "flattens":
                ends = {"ratio": one.ceiling, "ratio_low": one.low, "ratio_high": one.high}
                for length_px in (one.smallest_px, one.largest_px):
                    yield {"curve": sweep.name, "line": line.name, "length_px": length_px, **ends}


def of_reconstructions(results: Results) -> Iterator[Chart | None]:
    """What each component of an iteration gains over ranks, and what it takes."""
    rows = component_rows(results)
    seen = ("efficiency", "normalised_efficiency", "seconds", "share", "flags")
    marks = Marks(
        id="components",
        title="Speedup of each component over ranks",
        note=f"{OF_TRIALS}' ratios, side by side at each N; dashed: ideal. N0 are the fewest ranks "
        f"that ran. {BARS}",
        axis=("Speedup over N0",) * 2,
        table="reconstruct",
        rows=[row for row in rows if row["speedup"]],
        seen=("curve", "part", "workers", "speedup", *seen),
        value="speedup",
        scale="log2",
        along_title="Ranks N",
        series="part",
        known=COMPONENT_NAMES,
        is_aside=True,
    )
    yield marks.chart([marks.level("datum.workers / datum.baseline_workers")])
    efficient = replace(
        marks,
        id="componentefficiency",
        title="Efficiency of each component over ranks",
        note=f"{OF_TRIALS}' speedups over N/N0; dashed: ideal.",
        axis=("Efficiency",) * 2,
        dataset="components",
        value="efficiency",
        scale="linear",
    )
    yield efficient.chart([efficient.level("1")])
    yield bars(
        "componentshares",
        "What an iteration consists of",
        "Shares of the time of all ranks in iterations; what is missing up to the whole is in no "
        "component.",
        [row for row in rows if row["share"] and row["part"] != NAMES[TOTAL]],
        axis=("Share of ranks' time",) * 2,
        parts={name: f"curve-{place}" for place, name in enumerate(COMPONENT_NAMES)},
        table="reconstruct",
        value="share",
        relative="share",
        seen=("seconds", "share"),
        along_title="Ranks N",
    )


def pareto(results: Results) -> Chart | None:
    """Every configuration of a loader by its diversity and by what it delivers."""
    rows = loader_rows(results)
    has_target = any(row["consumed_per_s"] is not None for row in rows)
    marks = Marks(
        id="loaderpareto",
        title="Diversity against speed",
        note=f"{OF_TRIALS} of the rate that all ranks reach in step. {BARS} Stepped line: the "
        "front, beside which nothing that was measured is both faster and more diverse. Effective "
        "slides: as many of equal share would make 1,000 patches of a rank as diverse."
        + (" Dashed: what training takes, of all ranks." if has_target else ""),
        axis=("Patches/s, all ranks in step",) * 2,
        table="loader",
        rows=rows,
        seen=("configuration", "line", *OF_LOADERS[:6], "flags"),
        value="patches_per_s",
        scale="linear",
        along="effective_slides",
        along_title="Effective slides of all ranks",
        kind="linear",
        series="line",
    )
    best = marks.on(marks.data).transform_filter("datum.on_front")
    # Between two points of the front lies nothing that was measured, and no promise of it.
    front: dict[str, Any] = {"interpolate": "step-before", "strokeWidth": 1.3}
    line = best.mark_line(**front, color=colour("quiet"))
    return marks.chart([marks.across("datum.consumed_per_s"), line.encode(**marks.at())])


def nodes(machine: MachineFindings) -> Chart | None:
    """Every node's rates over the medians of all nodes."""
    kinds = {"storage": "storage", "decompress": "decompression", "kernels": "compute"}
    columns = ("node", "ratio", "ratio_low", "ratio_high", "outlier", "hardware")
    marks = Marks(
        id="machinenodes",
        title="Node beside node",
        note="Marks: a test each, its rate on this node over the median of all nodes (dashed). "
        f"Rings: stands apart, below {SLOW:g} or above {FAST:g}, with an interval that leaves 1 "
        "out.",
        axis=("Of the median of all nodes",) * 2,
        table="nodes",
        rows=[
            {"curve": "", "line": kinds.get(row["kind"], row["kind"]), "test": label(row)}
            | {column: row[column] for column in columns}
            for row in machine.nodes.to_dicts()
        ],
        seen=("node", "test", "ratio", "hardware"),
        value="ratio",
        scale="log2",
        along="node",
        kind="names",
        series="line",
        known=list(kinds.values()),
    )
    ring: dict[str, Any] = {"filled": False, "size": 170, "opacity": 1, "strokeWidth": 1.5}
    apart = marks.on(marks.data).transform_filter("datum.outlier")
    rings = apart.mark_point(**ring, color=colour("ink")).encode(**marks.at())
    return marks.chart([marks.across("1")], [rings])
