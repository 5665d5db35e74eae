"""The validation in scaling_analysis.md, in the terminal, and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.report.results import Results
from pyscale.report.validation.sentences import headline, sentences
from pyscale.report.wording import ABSENT, number
from pyscale.validation.findings import ValidationFindings
from pyscale_stages.atomic import write_atomically

if TYPE_CHECKING:
    from rich.console import RenderableType

NAME = "validation.json"
COLUMNS = ("Stage", "Verdict", "Measure", "At N", "Value", "Expected", "Tolerance", "Source")


def section(found: ValidationFindings | None) -> dict[str, Any] | None:
    """Content of a report's section; None without a validation."""
    if found is None:
        return None
    return {
        "headline": headline(found),
        "sentences": sentences(found),
        "reference": found.reference.model_dump(),
        "columns": COLUMNS,
        "rows": _rows(found),
    }


def lines(found: ValidationFindings | None) -> list[RenderableType]:
    """Lines of the terminal: the verdict and its reasons."""
    from rich.text import Text

    if found is None:
        return []
    style = "bold red" if found.verdict == "wrong" else "bold"
    return [Text(headline(found), style=style), *(Text(f"- {s}") for s in sentences(found)), Text()]


def write_validation(folder: Path, results: Results) -> list[Path]:
    """Write all verdicts with their numbers; without any, remove an earlier file."""
    path = folder / NAME
    if results.validation is None:
        path.unlink(missing_ok=True)
        return []
    write_atomically(path, results.validation.model_dump_json(indent=1) + "\n")
    return [path]


def _rows(found: ValidationFindings) -> list[list[str]]:
    rows = []
    for stage in found.stages:
        for measure in stage.measures:
            value = ABSENT if measure.value is None else number(measure.value)
            rows.append(
                [
                    *(stage.entry, stage.verdict, measure.name, str(measure.workers), value),
                    *(number(measure.expected), number(measure.tolerance), measure.because),
                ]
            )
    return rows
