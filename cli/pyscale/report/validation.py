"""What a report says of a validation: whether the installation computes what it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pyscale.report.results import Results
from pyscale.report.wording import ABSENT, listing, number, ratio, with_interval
from pyscale.validation.findings import Measure, Speed, StageFinding, ValidationFindings
from pyscale_stages.atomic import write_atomically

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


def headline(found: ValidationFindings) -> str:
    """State whether the installation computes what it should."""
    named = {
        verdict: [stage.entry for stage in found.stages if stage.verdict == verdict]
        for verdict in ("identical", "within tolerance", "wrong", "not run", "left out")
    }
    if found.verdict == "wrong":
        first = [stage.entry for stage in found.stages if _began(stage)]
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


def _began(stage: StageFinding) -> bool:
    """Whether a stage is wrong by itself, as far as can be known."""
    return stage.verdict == "wrong" and not stage.after


def _give(entries: list[str]) -> str:
    return f"{listing(entries)} {'gives' if len(entries) == 1 else 'give'}"


def sentences(found: ValidationFindings) -> list[str]:
    """Give the reason for each stage, and its speed beside references."""
    return [*map(_of_stage, found.stages), *_how_fast(found)]


def _of_stage(stage: StageFinding) -> str:
    """State the verdict on a stage with the numbers that decide it."""
    said = f"{stage.entry}: {stage.verdict}"
    if stage.verdict == "left out":
        return f"{said}: not requested."
    if not stage.trials:
        return f"{said}: {stage.why.rstrip('.')}."
    if stage.verdict == "wrong":
        said = f"{said}: {'; '.join(_reasons(stage))}."
    elif stage.verdict == "identical":
        said = f"{said}: {_trials(stage)} gave the same bytes as the reference installation."
    else:
        differ = "differs" if len(stage.other_files) == 1 else "differ"
        measures = listing(map(_right, stage.measures))
        said = (
            f"{said}: {listing(stage.other_files)} {differ} from the reference installation's; in "
            f"{_trials(stage)} {measures}."
        )
    return f"{said} Not every trial was judged: {stage.why.rstrip('.')}." if stage.why else said


def _trials(stage: StageFinding) -> str:
    if stage.trials == 1:
        return "one trial"
    return f"{stage.trials} trials" if stage.why else f"all {stage.trials} trials"


def _reasons(stage: StageFinding) -> Iterator[str]:
    for measure in stage.measures:
        if not measure.is_right:
            yield _wrong(measure)
    if stage.disagreeing:
        counts = listing(stage.disagreeing)
        yield f"at N = {counts} its output disagrees with the run's own baseline"
    if stage.after:
        yield f"its input, the output of {listing(stage.after)}, is wrong"


def _right(measure: Measure) -> str:
    return f"{measure.name} is {_value(measure)}, expected {_expected(measure)}"


def _wrong(measure: Measure) -> str:
    return (
        f"{measure.name} is {_value(measure)} at N = {measure.workers}, expected "
        f"{_expected(measure)} ({measure.because})"
    )


def _value(measure: Measure) -> str:
    return "not a number" if measure.value is None else number(measure.value)


def _expected(measure: Measure) -> str:
    return f"{number(measure.expected)} \N{PLUS-MINUS SIGN} {number(measure.tolerance)}"


def _how_fast(found: ValidationFindings) -> Iterator[str]:
    if not found.speeds:
        yield "Speed: no known reference did the same work with as many workers."
    for speed in found.speeds:
        yield _speed(speed)


def _speed(speed: Speed) -> str:
    as_fast = with_interval(
        ratio(speed.speedup), *(ratio(end) for end in (speed.speedup_low, speed.speedup_high))
    )
    sure = (
        ""
        if speed.speedup_low is not None
        else f"; medians of {speed.trials} and {speed.reference_trials} trials, too few for an "
        "interval"
    )
    return (
        f"{speed.entry} at N = {speed.workers} takes {number(speed.wall_s)} s, {as_fast} times as "
        f"fast as {speed.reference} ({number(speed.reference_s)} s{sure})."
    )
