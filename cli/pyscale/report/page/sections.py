"""What stands in each section of the page: sentences and tables, written from the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.intervals import resamples
from pyscale.analysis.laws import POOR_FIT
from pyscale.analysis.workers import CLOCK_TOLERANCE_S
from pyscale.report import (
    advice,
    laws,
    scalingkind,
    sentences,
    validation,
)
from pyscale.report.bottomline import bottom_line
from pyscale.report.comparisonview import Compared
from pyscale.report.context import ReportContext
from pyscale.report.csv import files_of
from pyscale.report.curves import Curve, curves
from pyscale.report.grid.sweep import largest_px, sweeps
from pyscale.report.kinds import sections_of
from pyscale.report.page import tables
from pyscale.report.page.firstscreen import overview, same_outputs
from pyscale.report.quality import measured, missed, right, worse
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.report.warned import said
from pyscale.wording import ABSENT, listing, of_each, titled
from pyscale_stages.wording import plural

STAGES_BY_NAME = 6
"""More are counted: each has its name in its verdict below."""
_BULLET = re.compile(r"^- ", re.MULTILINE)


def sections(results: Results) -> dict[str, Any]:
    """Collect what `page/report.html.j2` names, but charts."""
    every = curves(results.without_apart())
    grids = results.every(GridFindings)
    of_kinds, over_sizes = sections_of(results), sweeps(grids)
    points = {row["stage"] for sweep in over_sizes for row in sweep.points}
    told_of_all = {
        "doubts": [
            *sentences.doubts([one for one in every if one.key["stage"] not in points]),
            *sentences.drifted(every, results.drifts),
            *(doubt for one in of_kinds for doubt in one.doubts),
        ],
        "warned": said(results.trials, grids),
        "not_to_be_trusted": [
            *sentences.not_to_be_trusted(results.configurations),
            *missed(results),
        ],
        "not_measured": [
            *sentences.not_measured(every, largest_px(over_sizes)),
            *(sentence for one in of_kinds for sentence in one.not_measured),
            *results.context.not_measured,
        ],
        "files": files_of(results),
        "of_kinds": of_kinds,
    }
    results = results.about_workers()
    found = curves(results.configurations)
    context = results.context
    bottom = bottom_line(results)
    is_over_n = bool(found) or not of_kinds
    of_grids, of_others = (
        [one.ran for one in of_kinds if (one.kind == "grid") is is_grid]
        for is_grid in (True, False)
    )
    return told_of_all | {
        "context": context,
        "ran": "; ".join([*of_grids, *([ran(found)] if is_over_n else []), *of_others]),
        "hardware": hardware(context),
        # Without the run's id, which stands elsewhere.
        "title": titled(context.title.removeprefix(f"run {context.run_id}, ")),
        "stages": [*(sweep.name for sweep in over_sizes), *(curve.name for curve in found)],
        "curves": {curve.name: curve.key["stage"] for curve in found},
        "is_over_n": is_over_n,
        "bottom": bottom,
        "overview": overview(bottom, results) if bottom.stages else None,
        "pictures": results.pictures,
        "same": same_outputs(results),
        "stand_ins": list(dict.fromkeys(filter(None, (one.stand_in for one in bottom.stages)))),
        "results": tables.results(found),
        "choices": tables.choices(found, results),
        "losses": tables.losses(found, results),
        "waiting": tables.waiting(found),
        "memory": tables.memory(found),
        "cost": tables.cost(found),
        "agreement": tables.agreement(found),
        "right": right(found, context.works),
        "cache": tables.cache(found),
        "measured": measured(results.measured),
        "worse": list(worse(results.measured)),
        "told": [_told(curve, results) for curve in found],
        "meaning": [
            f"{advice.NAMES[objective]}: {meaning}"
            for objective, meaning in advice.MEANING.items()
            if any(choice.objective == objective for choice in results.choices)
        ],
        "how_sure": advice.HOW_SURE,
        "too_much": list(advice.too_much(found)),
        "method": method(found, results, [one.kind for one in of_kinds]),
        "validation": validation.section(results.validation),
        "versions": results.versions and Compared.of(results.versions),
        "references": [
            *(referred.reference for referred in results.references),
            *(reference for found in results.beside.values() for reference, _ in found),
        ],
        "stamps": [
            {"names": node.names, "properties": dict(flattened(node.stamp))}
            for node in context.nodes
        ],
    }


def ran(found: Sequence[Curve]) -> str:
    """Say which configurations there are, in a line."""
    names = [curve.name for curve in found]
    several = f"{plural(len(names), 'stage')}" if len(names) > STAGES_BY_NAME else listing(names)
    counts = sorted({row["workers"] for curve in found for row in curve.rows})
    if not counts:
        return "No trial has a record."
    trials = of_each(row["repeats"] for curve in found for row in curve.rows)
    return f"{several} at N = {listing(counts)} worker{'s' * (counts != [1])}, {trials}"


def hardware(context: ReportContext) -> str:
    """Name what it ran on, in a line."""
    told = []
    for node in context.hardware:
        gpus = node.get("GPUs")
        brief = (
            node.get("processor"),
            plural(node["cores"], "core") if "cores" in node else None,
            node.get("memory"),
            "no GPU" if gpus == "none" else gpus,
            node.get("filesystems"),
            f"node {node['nodes']}" if "nodes" in node else None,
        )
        told.append(", ".join(filter(None, brief)) or ", ".join(node.values()))
    return "; ".join(told) or "Hardware not recorded"


def flattened(stamp: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every recorded property, named by its path through the stamp."""
    is_several = isinstance(stamp, list) and any(isinstance(one, Mapping) for one in stamp)
    if isinstance(stamp, Mapping) or is_several:
        for key, inner in stamp.items() if isinstance(stamp, Mapping) else enumerate(stamp):
            yield from flattened(inner, f"{name}.{key}" if name else str(key))
    else:
        values = stamp if isinstance(stamp, list) else [stamp]
        yield name, ", ".join(map(str, values)) if stamp not in (None, "", []) else ABSENT


def method(found: Sequence[Curve], results: Results, kinds: Sequence[str]) -> list[str]:
    """How it was measured and computed, a paragraph each."""
    repeats = max((row["repeats"] for curve in found for row in curve.rows), default=1)
    template = templates().get_template("method.j2")
    text = template.render(
        resamples=resamples(max(1, repeats)),
        clock_tolerance=f"{CLOCK_TOLERANCE_S:g} s",
        small_part=f"{100 * sentences.SMALL_PART:g} %",
        poor_fit=f"{100 * POOR_FIT:g} %",
        has_laws=bool(results.fits),
        is_interleaved=results.interleaved,
        is_scaled=scalingkind.legend(found) is not None,
        is_over_n=bool(found) or not kinds,
        kinds=kinds,
    )
    return [" ".join(item.split()) for item in _BULLET.split(text) if item.strip()]


def _told(curve: Curve, results: Results) -> dict[str, Any]:
    return {
        "name": curve.name,
        "title": results.context.named(curve.name, curve.key["stage"]),
        "base_case": sentences.base_case(curve),
        "work": scalingkind.work(curve),
        "losses": tables.losses([curve], results),
        "held_against": scalingkind.held_against(curve.rows[0]),
        "lost_time": list(sentences.lost_time(curve, results.losses)),
        "request": advice.section(
            curve, results.choices, results.limits, results.requests, results.context.measured_for
        ),
        "laws": [
            *filter(None, [sentences.serial_fractions(curve)]),
            *laws.of_curve(curve, results.fits),
        ],
    }
