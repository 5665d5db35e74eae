"""What a report says of a validation: whether the installation computes what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pyscale.report.results import Results
from pyscale.validation.findings import Measure, StageFinding, ValidationFindings
from pyscale.wording import listing, number
from pyscale_stages.atomic import write_atomically

NAME = "validation.json"
COLUMNS = ("Stage", "Verdict", "Measure", "At N", "Value", "Expected", "Tolerance", "Source")


def section(found: ValidationFindings | None) -> dict[str, Any] | None:
    """Content of a report's section; None without a validation."""
    if found is None:
        return None
    rows = [
        [
            *(stage.entry, stage.verdict, measure.name, str(measure.workers)),
            *map(number, (measure.value, measure.expected, measure.tolerance)),
            measure.because,
        ]
        for stage in found.stages
        for measure in stage.measures
    ]
    return {
        "headline": headline(found),
        "sentences": sentences(found),
        "reference": found.reference.model_dump(),
        "columns": COLUMNS,
        "rows": rows,
    }


def lines(found: ValidationFindings | None) -> list[RenderableType]:
    """Lines of the terminal: the verdict and its reasons."""
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


def headline(found: ValidationFindings) -> str:
    """State whether the installation computes what it should."""
    named = {
        verdict: [stage.entry for stage in found.stages if stage.verdict == verdict]
        for verdict in ("identical", "within tolerance", "wrong", "not run", "left out")
    }
    if found.verdict == "wrong":
        # What read a wrong input may be right by itself.
        first = [one.entry for one in found.stages if one.verdict == "wrong" and not one.after]
        return f"This installation does not compute what it should: {_give(first)} wrong results."
    if found.verdict == "cannot say":
        why = found.why or f"{listing(named['not run']) or 'every stage'} gave no output to judge"
        return f"Validation without a verdict: {why}."
    told = []
    if named["identical"]:
        told.append(f"{_give(named['identical'])} the same bytes as the reference installation")
    if named["within tolerance"]:
        whose = "of it" if told else "of the reference installation"
        told.append(f"{_give(named['within tolerance'])} results within tolerance {whose}")
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
        reasons = [
            f"{_value(one, f' at N = {one.workers}')} ({one.because})"
            for one in stage.measures
            if not one.is_right
        ]
        if stage.disagreeing:
            counts = listing(stage.disagreeing)
            reasons.append(f"at N = {counts} its output disagrees with the run's own baseline")
        if stage.after:
            reasons.append(f"its input, the output of {listing(stage.after)}, is wrong")
        said = f"{said}: {'; '.join(reasons)}."
    elif stage.verdict == "identical":
        said = f"{said}: {trials} gave the same bytes as the reference installation."
    else:
        differ = "differs" if len(stage.other_files) == 1 else "differ"
        said = (
            f"{said}: {listing(stage.other_files)} {differ} from the reference installation's; in "
            f"{trials} {listing(map(_value, stage.measures))}."
        )
    return f"{said} Not every trial was judged: {why}." if why else said


def _value(measure: Measure, at: str = "") -> str:
    value = "has no value" if measure.value is None else f"is {number(measure.value)}"
    expected = f"{number(measure.expected)} \N{PLUS-MINUS SIGN} {number(measure.tolerance)}"
    return f"{measure.name} {value}{at}, expected {expected}"
