"""Section of a report on reconstruction over ranks: answers, tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscale.report import sentences
from pyscale.report.curves import Curve, curves
from pyscale.report.reconstruct import answer, published, qualitytables, tables, told
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.verdict import verdict
from pyscale.report.results import Results

QUESTION = "Which component of the reconstruction scales?"
OF_TRIALS = ("workers-did-not-overlap", "clocks-unknown", "disagrees", "check-failed")
"""Flags of trials that matter to reconstruction; points have the others of their own."""


def section(results: Results) -> dict[str, Any] | None:
    """Collect what the templates name; None where nothing was reconstructed."""
    findings = results.reconstruct
    if findings is None or findings.points.is_empty():
        return None
    parts = Parts.of(findings)
    advised = {one.stage: one for one in findings.answers}
    raised = _raised(results)
    own = _own(results)
    return {
        "title": QUESTION,
        "heading": "Distributed reconstruction",
        "ran": told.ran(parts.points),
        "verdicts": [
            verdict(parts, stage, advised.get(stage), raised.get(stage, ()))
            for stage in parts.names
        ],
        "answers": [
            (name, [said.text for said in answer.answers(parts, stage, advised.get(stage))])
            for stage, name in parts.names.items()
        ],
        "tables": [
            shown
            for shown in (
                tables.scaling(parts),
                tables.components(parts),
                tables.speedups(parts),
                tables.sharing(parts),
                qualitytables.quality(parts),
                qualitytables.largest(findings.largest.to_dicts(), parts),
            )
            if shown is not None
        ],
        "failed": list(told.failed(parts.points, parts.names)),
        "published": published.beside(results.reconstruct_references, parts),
        "doubts": [
            *told.doubts(parts.points, parts.names),
            *sentences.doubts(own, OF_TRIALS),
        ],
        "not_measured": list(told.not_measured(parts.points)),
    }


def _own(results: Results) -> list[Curve]:
    """Configurations that reconstruct, as trials are timed."""
    every = curves(results.configurations)
    return [curve for curve in every if curve.key["stage"] in results.reconstruct_entries]


def _raised(results: Results) -> Mapping[str, list[str]]:
    """Flags of trials by entry."""
    return {
        curve.key["stage"]: [
            code for code in OF_TRIALS if any(code in row["flags"] for row in curve.rows)
        ]
        for curve in _own(results)
    }
