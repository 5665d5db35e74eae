"""Every section of a report: stages over N, and each kind of work beside; all that pages name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyscale.analysis.flags import UNCHECKED
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.intervals import resamples
from pyscale.analysis.laws import POOR_FIT
from pyscale.analysis.workers import CLOCK_TOLERANCE_S
from pyscale.report import advice, sentences
from pyscale.report.advice import RankAdvice
from pyscale.report.bottomline import NAMES, bottom_line
from pyscale.report.comparisonview import Compared
from pyscale.report.context import ReportContext
from pyscale.report.csv import files_of
from pyscale.report.curves import Curve, curves
from pyscale.report.grid import section as grid
from pyscale.report.grid.sweep import sweeps
from pyscale.report.machine import section as machine
from pyscale.report.page import tables
from pyscale.report.ranks import loader, reconstruct
from pyscale.report.results import Results
from pyscale.report.section import Block, Section, there
from pyscale.report.templating import templates
from pyscale.wording import ABSENT, grouped, listing, of_each, titled
from pyscale_stages.wording import plural

KINDS = (grid.section, reconstruct.section, loader.section, machine.section)
"""What tells of each kind, in the order of a report."""
FIRST = ("request", "settings")
"""Answers that say what to ask for."""

LEFT_OUT = {"Trials", "Worker-seconds", "Warnings"}
"""Columns that a terminal has no room for."""

STAGES_BY_NAME = 6
"""More are counted: each has its name in its verdict below."""
_BULLET = re.compile(r"^- ", re.MULTILINE)


def sections_of(results: Results) -> list[Section]:
    """Tell of each kind of work that a report has."""
    return [section for tell in KINDS if (section := tell(results)) is not None]


def rank_advice(results: Results) -> Iterator[RankAdvice]:
    """Give what is advised of each kind of ranks' work, as the first screen answers it."""
    for section in sections_of(results):
        for answered in section.answered if section.advises else ():
            ordered = sorted(answered.answers, key=lambda one: one.answers not in FIRST)
            assert answered.trust is not None
            yield RankAdvice(
                name=answered.name,
                answers=tuple(one.text for one in ordered),
                lines=tuple(line for _, line in section.paste),
                trust=answered.trust,
                reasons=answered.reasons,
            )


def stage_sections(results: Results) -> Iterator[Section]:
    """Tell of stages over N, and of numbers that stages measure."""
    about = results.about_workers()
    if found := curves(about.configurations):
        yield _results(found, about, results)
        yield _where(found, about)
        agreement, right = tables.agreement(found), tables.right(found, about.context.works)
        checks = Block(
            tables=there(right),
            folded=there(agreement, tables.cache(found)),
        )
        yield Section(
            kind="agreement",
            title="Is it right?",
            blocks=(checks,),
            short=there(agreement and agreement.in_short({"What agreement is"}), right),
        )
        used = there(tables.memory(found))
        told = tuple(advice.too_much(found))
        yield Section(
            kind="resources",
            title="Memory and cost",
            blocks=(Block(said=told, folded=there(*used, tables.cost(found))),),
            short=used,
        )
    if measured := tables.measured(results.measured):
        said = tuple(sentences.worse(results.measured))
        yield Section(
            kind="measures",
            title="Measured by stages",
            blocks=(Block(said=said, tables=(measured,)),),
            short=(measured,),
        )


def _results(found: Sequence[Curve], about: Results, results: Results) -> Section:
    every = curves(results.without_apart())
    points = {stage for grid in results.every(GridFindings) for stage in grid.points["stage"]}
    table = tables.results(found)
    scaled = (told for curve in found for told in sentences.scaled_work(curve))
    return Section(
        kind="results",
        title="Results",
        blocks=(
            Block(
                said=(*scaled, *sentences.assumed_strong(found)),
                tables=there(table),
            ),
            _objectives(found, about),
            Block("Scaling laws", said=tuple(_laws(found, about)), is_folded=True),
        ),
        figures=("walltime", "throughput"),
        short=there(table and table.in_short(LEFT_OUT)),
        narrow=4,
        # Of the points of a grid its own section tells.
        doubts=tuple(sentences.doubts([one for one in every if one.key["stage"] not in points])),
    )


def _objectives(found: Sequence[Curve], results: Results) -> Block:
    objectives = {choice.objective for choice in results.choices}
    meaning = [
        f"{NAMES[one].capitalize()}: {told}."
        for one, told in advice.MEANING.items()
        if one in objectives
    ]
    sure = [f"Confidence: {advice.HOW_SURE}.", f"{advice.MARGINS}."] if meaning else []
    return Block(
        "The N of every objective",
        tables=there(tables.choices(found, results)),
        note=" ".join([*meaning, *sure]),
        is_folded=True,
    )


def _where(found: Sequence[Curve], results: Results) -> Section:
    limiting = (
        f"{curve.name}: {sentence}"
        for curve in found
        for sentence in sentences.limits(
            advice.limits_near(
                curve, [one for one in results.choices if curve.owns(one)], results.limits
            )
        )
    )
    losses, waiting = tables.losses(found, results), tables.waiting(found)
    return Section(
        kind="where",
        title="Where the time went",
        blocks=(
            Block("What limits each stage", said=tuple(limiting), is_folded=True),
            Block(folded=there(losses, waiting)),
        ),
        figures=("losses", "timeline"),
        short=there(tables.shares(found, results), waiting),
        narrow=5,
    )


def _laws(found: Sequence[Curve], results: Results) -> Iterator[str]:
    told = (
        (sentence, curve.name)
        for curve in found
        for own in results.fits
        if curve.owns(own)
        for sentence in sentences.laws(
            own, [row["workers"] for row in curve.timed if row["invalid"]]
        )
    )
    for sentence, names in grouped(told).items():
        yield f"{listing(names)}: {sentence}"


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
    first = tables.overview(bottom) if bottom.stages else None
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
