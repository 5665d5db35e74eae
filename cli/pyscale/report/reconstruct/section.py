"""Section of a report on reconstruction over ranks: answers, tables and sentences."""

from __future__ import annotations

from typing import Any

from pyscale.report import sentences
from pyscale.report.reconstruct import answer, published, qualitytables, tables, told
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.verdict import verdicts
from pyscale.report.results import Results

QUESTION = "Which component of the reconstruction scales?"


def section(results: Results) -> dict[str, Any] | None:
    """Collect what the templates name; None where nothing was reconstructed."""
    findings = results.reconstruct
    if findings is None or findings.points.is_empty():
        return None
    parts = Parts.of(findings)
    advised = {one.stage: one for one in findings.answers}
    trials = results.configurations
    return {
        "title": QUESTION,
        "heading": "Distributed reconstruction",
        "ran": told.ran(parts.points),
        "verdicts": list(verdicts(parts, advised, trials)),
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
            *sentences.doubts_of_trials(trials, results.reconstruct_entries, parts.points),
        ],
        "not_measured": list(told.not_measured(parts.points)),
    }
