"""Charts of grids, ranks and tests of a machine, from the tables of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.reconstruct import TOTAL
from pyscale.report.charts.chart import Chart, Row
from pyscale.report.charts.marks import bars, marks
from pyscale.report.drawnrows import (
    COMPONENT_NAMES,
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

GREY = "Grey, hollow: other machines, on work of their own: compare shapes, not times."
DOTTED = "Dotted line and band: what the ratio flattens at."
TARGET = "Dashed: what training takes, of all ranks."
OF_NODES = {"storage": "storage", "decompress": "decompression", "kernels": "compute"}


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
    known = lines_of(found)
    others = [row for sweep in found for row in _elsewhere(sweep, results)]
    times = [row for sweep in found for row in point_rows(sweep)]
    note = GREY if others else None
    yield marks("sizetime", times, note, known=known, elsewhere=others).chart()
    flat = list(_ceilings(found))
    ratios = marks(
        "sizeratio",
        ratio_rows(found),
        DOTTED if flat else None,
        axis=(ratio_title(line.base for sweep in found for line in sweep.compared),),
        known=known,
        elsewhere=[row for row in others if row["ratio"] is not None],
    )
    law = ratios.law("ceilings") if flat else []
    yield ratios.chart([ratios.across("1"), *law], ceilings=flat)
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
    names = dict.fromkeys(row["part"] for row in parts)
    tints = {
        phase(name): f"part-{name}" if name == UNATTRIBUTED else f"call-{i % len(CALL_PARTS)}"
        for i, name in enumerate(names)
    }
    yield bars("callparts", [row | {"part": phase(row["part"])} for row in parts], tints)


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
    known = [row for row in rows if row["speedup"]]
    gains = marks("components", known, known=COMPONENT_NAMES)
    yield gains.chart([gains.level("datum.workers / datum.baseline_workers")])
    efficient = marks("componentefficiency", known, known=COMPONENT_NAMES)
    yield efficient.chart([efficient.level("1")])
    yield bars(
        "componentshares",
        [row for row in rows if row["share"] and row["part"] != NAMES[TOTAL]],
        {name: f"curve-{place}" for place, name in enumerate(COMPONENT_NAMES)},
    )


def pareto(results: Results) -> Chart | None:
    """Every configuration of a loader by its diversity and by what it delivers."""
    rows = loader_rows(results)
    has_target = any(row["consumed_per_s"] is not None for row in rows)
    shown = marks("loaderpareto", rows, TARGET if has_target else None)
    best = shown.on(shown.data).transform_filter("datum.on_front")
    # Between two points of the front lies nothing that was measured, and no promise of it.
    front: dict[str, Any] = {"interpolate": "step-before", "strokeWidth": 1.3}
    line = best.mark_line(**front, color=colour("quiet"))
    return shown.chart([shown.across("datum.consumed_per_s"), line.encode(**shown.at())])


def nodes(machine: MachineFindings) -> Chart | None:
    """Every node's rates over the medians of all nodes."""
    columns = ("node", "ratio", "ratio_low", "ratio_high", "outlier", "hardware")
    rows = [
        {"curve": "", "line": OF_NODES.get(row["kind"], row["kind"]), "test": label(row)}
        | {column: row[column] for column in columns}
        for row in machine.nodes.to_dicts()
    ]
    shown = marks("machinenodes", rows, known=list(OF_NODES.values()))
    ring: dict[str, Any] = {"filled": False, "size": 170, "opacity": 1, "strokeWidth": 1.5}
    apart = shown.on(shown.data).transform_filter("datum.outlier")
    rings = apart.mark_point(**ring, color=colour("ink")).encode(**shown.at())
    return shown.chart([shown.across("1")], [rings])
