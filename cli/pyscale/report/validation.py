"""What a report says of a validation: whether the installation computes what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pyscale.report.results import Results
from pyscale.validation.judging import StageFinding, ValidationFindings
from pyscale.wording import listing
from pyscale_stages.atomic import write_atomically

NAME = "validation.json"


def section(found: ValidationFindings | None) -> dict[str, Any] | None:
    """Content of a report's section; None without a validation."""
    if found is None:
        return None
    return {
        "headline": headline(found),
        "sentences": sentences(found),
        "reference": found.reference.model_dump(),
    }


def lines(found: ValidationFindings | None) -> list[RenderableType]:
    """Lines of the terminal: the verdict and its reasons."""
    if found is None:
        return []
    style = "bold red" if found.verdict == "wrong" else "bold"
    return [Text(headline(found), style=style), *(Text(f"- {s}") for s in sentences(found)), Text()]


def write_validation(folder: Path, results: Results) -> list[Path]:
    """Write all verdicts; without any, remove an earlier file."""
    path = folder / NAME
    if results.validation is None:
        path.unlink(missing_ok=True)
        return []
    write_atomically(path, results.validation.model_dump_json(indent=1) + "\n")
    return [path]


def headline(found: ValidationFindings) -> str:
    """State whether the installation computes what it should."""
    named = {
        verdict: [stage.entry for stage in found.stages if stage.verdict == verdict]
        for verdict in ("identical", "right", "wrong", "not run", "left out")
    }
    if found.verdict == "wrong":
        wrong = _give(named["wrong"])
        return f"This installation does not compute what it should: {wrong} wrong results."
    if found.verdict == "cannot say":
        why = found.why or f"{listing(named['not run']) or 'every stage'} gave no output to judge"
        return f"Validation without a verdict: {why}."
    told = []
    if named["identical"]:
        told.append(f"{_give(named['identical'])} the same bytes as the reference installation")
    if named["right"]:
        told.append(f"{_give(named['right'])} other bytes with every measure in bounds")
    left_out = f" Not validated: {listing(named['left out'])}." if named["left out"] else ""
    return f"This installation computes what it should: {listing(told)}.{left_out}"


def _give(entries: list[str]) -> str:
    return f"{listing(entries)} {'gives' if len(entries) == 1 else 'give'}"


def sentences(found: ValidationFindings) -> list[str]:
    """Give the reason for each stage."""
    return list(map(_of_stage, found.stages))


def _of_stage(stage: StageFinding) -> str:
    said, why = f"{stage.entry}: {stage.verdict}", stage.why.rstrip(".")
    if stage.verdict == "left out":
        return f"{said}: not requested."
    if not stage.trials:
        return f"{said}: {why}."
    trials = f"{'' if why else 'all '}{stage.trials} trials" if stage.trials > 1 else "one trial"
    if stage.verdict == "wrong":
        reason = "; ".join(stage.beyond)
    elif stage.verdict == "identical":
        reason = f"{trials} gave the same bytes as the reference installation"
    else:
        differ = "differs" if len(stage.other_files) == 1 else "differ"
        reason = (
            f"{listing(stage.other_files)} {differ} from the reference installation's; in {trials} "
            "every measure is in its bounds"
        )
    return f"{said}: {reason}." + (f" Not every trial was judged: {why}." if why else "")
