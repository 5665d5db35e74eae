"""What a report says of a validation: whether the installation computes what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pyscale.report.results import Results
from pyscale.report.templating import sentences
from pyscale.validation.expected import ValidationFindings
from pyscale_stages.atomic import write_atomically

NAME = "validation.json"


def section(found: ValidationFindings | None) -> dict[str, Any] | None:
    """Content of a report's section; None without a validation."""
    if found is None:
        return None
    return {
        "headline": headline(found),
        "sentences": reasons(found),
        "reference": found.reference.model_dump(),
    }


def headline(found: ValidationFindings) -> str:
    """State whether the installation computes what it should."""
    return " ".join(sentences("validation.j2", "headline", found=found))


def reasons(found: ValidationFindings) -> list[str]:
    """Give the reason for each stage."""
    return sentences("validation.j2", "reasons", found=found)


def lines(found: ValidationFindings | None) -> list[RenderableType]:
    """Lines of the terminal: the verdict and its reasons."""
    if found is None:
        return []
    style = "bold red" if found.verdict == "wrong" else "bold"
    return [Text(headline(found), style=style), *(Text(f"- {s}") for s in reasons(found)), Text()]


def write_validation(folder: Path, results: Results) -> list[Path]:
    """Write all verdicts; without any, remove an earlier file."""
    path = folder / NAME
    if results.validation is None:
        path.unlink(missing_ok=True)
        return []
    write_atomically(path, results.validation.model_dump_json(indent=1) + "\n")
    return [path]
