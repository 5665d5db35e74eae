"""What stands in each section of the page: sentences and tables, written from the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyscale.analysis.flags import UNCHECKED
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.intervals import resamples
from pyscale.analysis.laws import POOR_FIT
from pyscale.analysis.workers import CLOCK_TOLERANCE_S
from pyscale.report import sentences
from pyscale.report.bottomline import bottom_line
from pyscale.report.comparisonview import Compared
from pyscale.report.context import ReportContext
from pyscale.report.csv import files_of
from pyscale.report.curves import Curve, curves
from pyscale.report.grid.sweep import sweeps
from pyscale.report.kinds import sections_of, stage_sections
from pyscale.report.page.tables import overview
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.wording import ABSENT, listing, of_each, titled
from pyscale_stages.wording import plural

STAGES_BY_NAME = 6
"""More are counted: each has its name in its verdict below."""
_BULLET = re.compile(r"^- ", re.MULTILINE)


def sections(results: Results) -> dict[str, Any]:
    """Collect what page and text name, but charts."""
    grids = results.every(GridFindings)
    of_kinds, of_stages = sections_of(results), [*stage_sections(results)]
    # What is advised of ranks and grids stands above the stages beside them.
    every = [*(one for one in of_kinds if one.leads), *of_stages]
    every += [one for one in of_kinds if not one.leads]
    strict = (
        *sentences.not_to_be_trusted(results.configurations),
        *sentences.missed(results),
    )
    about = results.about_workers()
    found, bottom, context = curves(about.configurations), bottom_line(about), results.context
    of_grids, of_others = (
        [one.ran for one in of_kinds if (one.kind == "grid") is is_grid]
        for is_grid in (True, False)
    )
    first = overview(bottom) if bottom.stages else None
    return {
        "context": context,
        # Without the run's id, which stands elsewhere.
        "title": titled(context.title.removeprefix(f"run {context.run_id}, ")),
        "ran": "; ".join([*of_grids, *([ran(found)] if found else []), *of_others]),
        "hardware": hardware(context),
        "stages": [*(one.name for one in sweeps(grids)), *(curve.name for curve in found)],
        "bottom": bottom,
        "overview": first,
        "pictures": results.pictures,
        "same": same_outputs(about),
        "stand_ins": list(dict.fromkeys(filter(None, (one.stand_in for one in bottom.stages)))),
        "warned": sentences.warnings(results.trials, grids),
        "validation": results.validation and sentences.validated(results.validation),
        "reference": results.validation and results.validation.reference.model_dump(),
        "versions": results.versions and Compared.of(results.versions),
        "sections": every,
        "of_kinds": of_kinds,
        "doubts": [*(doubt for one in every for doubt in one.doubts), *context.lacking],
        "not_to_be_trusted": strict,
        "references": [
            *(referred.reference for referred in results.references),
            *(reference for found in results.beside.values() for reference, _ in found),
        ],
        "stamps": [
            {"names": node.names, "properties": dict(flattened(node.stamp))}
            for node in context.nodes
        ],
        "files": files_of(results),
        "method": method(found, about, [one.kind for one in of_kinds]),
    }


def same_outputs(results: Results) -> dict[str, dict[str, str]]:
    """Say by entry whether the largest N gave the output of the baseline that a picture shows."""
    found = {}
    for curve in curves(results.configurations):
        if len(curve.timed) < 2:
            continue
        last = curve.timed[-1]
        at, entry = f"at N = {last['workers']}", curve.key["stage"]
        if last["invalid"]:
            found[entry] = {"text": f"differs {at}", "trust": "no"}
        elif not UNCHECKED.isdisjoint(last["flags"]):
            found[entry] = {"text": f"check failed {at}", "trust": "no"}
        elif last["agreement"] is not None:
            same = "same" if last["identical"] else "agrees"
            found[entry] = {"text": f"{same} {at}", "trust": "yes"}
    return found


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
        poor_fit=f"{100 * POOR_FIT:g} %",
        has_laws=bool(results.fits),
        is_interleaved=results.interleaved,
        is_scaled=sentences.scaling_legend(found) is not None,
        is_over_n=bool(found) or not kinds,
        kinds=kinds,
    )
    return [" ".join(item.split()) for item in _BULLET.split(text) if item.strip()]
