"""Every section of a report: stages over N, and each kind of work beside, with what is advised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report import advice, sentences
from pyscale.report.advice import RankAdvice
from pyscale.report.bottomline import NAMES
from pyscale.report.curves import Curve, curves
from pyscale.report.grid import section as grid
from pyscale.report.machine import section as machine
from pyscale.report.page import tables
from pyscale.report.ranks import loader, reconstruct
from pyscale.report.results import Results
from pyscale.report.section import Block, Section, there
from pyscale.wording import grouped, listing

KINDS = (grid.section, reconstruct.section, loader.section, machine.section)
"""What tells of each kind, in the order of a report."""
FIRST = ("request", "settings")
"""Answers that say what to ask for."""

LEFT_OUT = {"Trials", "Worker-seconds", "Warnings"}
"""Columns that a terminal has no room for."""


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
        for sentence in sentences.limits(advice.limits_of(curve, results))
    )
    losses = there(tables.losses(found, results), tables.waiting(found))
    return Section(
        kind="where",
        title="Where the time went",
        blocks=(
            Block("What limits each stage", said=tuple(limiting), is_folded=True),
            Block(folded=losses),
        ),
        figures=("losses", "timeline"),
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
