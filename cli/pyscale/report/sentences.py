"""Sentences on curves and on configurations of ranks: doubts, limits, laws, warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import Field

from pyscale.analysis.causes import TAKEN_OUT_WHOLE, Cause, Limits
from pyscale.analysis.flags import SENTENCES, UNCHECKED, flags_of, flags_of_trials
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.laws import CurveFits
from pyscale.analysis.warned import CodeWarning, of_trials
from pyscale.report import templating
from pyscale.report.curves import Curve, curves
from pyscale.report.results import Results
from pyscale.validation.judging import ValidationFindings
from pyscale.wording import (
    at_each_n,
    grouped,
    listing,
    number,
    of_each,
    titled,
)
from pyscale_stages.contract import Record
from pyscale_stages.wording import plural

Row = dict[str, Any]


def doubts(found: Sequence[Curve], codes: Iterable[str] = SENTENCES) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    rows = [(curve.name, row) for curve in found for row in curve.rows]
    for code in codes:
        raised = [(name, row["workers"]) for name, row in rows if code in row["flags"]]
        if raised:
            is_everywhere = len(raised) == len(rows) and len(found) > 1
            told = "everywhere" if is_everywhere else "; ".join(at_each_n(raised))
            yield f"`{code}` ({told}): {SENTENCES[code]}"


def doubts_of_trials(
    configurations: pl.DataFrame, stages: Collection[str], points: Iterable[Row] = ()
) -> Iterator[str]:
    """Give the flags of the trials of some entries that no point of theirs raises itself."""
    told = {code for row in points for code in flags_of(row)}
    found = [curve for curve in curves(configurations) if curve.key["stage"] in stages]
    codes = flags_of_trials(configurations, stages)
    yield from doubts(found, [code for code in codes if code not in told])


def not_to_be_trusted(configurations: pl.DataFrame) -> Iterator[str]:
    """Name every configuration that is invalid, or may be because its check failed.

    These fail `pyscale run --strict`.
    """
    for curve in curves(configurations):
        named = {"name": curve.name, "rows": curve.rows, "unchecked": UNCHECKED}
        yield from templating.sentences("curves.j2", "not_to_be_trusted", **named)


def excluded(curve: Curve) -> list[str]:
    """Name the configurations that are never chosen, because they are invalid."""
    return templating.sentences("curves.j2", "excluded", rows=curve.timed)


def is_scaled(row: Row) -> bool:
    """Whether N workers had other work than the baseline, so that work per second is compared."""
    return row["scaling"] in {"weak", "mixed"}


def scaled_work(curve: Curve) -> list[str]:
    """State how the work grew, and what speedup and efficiency compare; empty: it did not."""
    if curve.base is None or not is_scaled(curve.base):
        return []
    return templating.sentences("curves.j2", "scaled_work", rows=curve.timed)


def assumed_strong(found: Sequence[Curve]) -> Iterator[str]:
    """Name the curves whose work is known at some N only."""
    for curve in found:
        unknown = [row["workers"] for row in curve.timed if row["work"] is None]
        if 0 < len(unknown) < len(curve.timed):
            yield (
                f"{curve.name}: the work at N = {listing(unknown)} is unknown; speedups assume "
                "strong scaling (the same work at every N)."
            )


def speedup_title(found: Sequence[Curve]) -> str:
    """Title of a figure of speedups of these curves."""
    scaled = any(is_scaled(row) for curve in found for row in curve.rows)
    return f"{'Scaled speedup' if scaled else 'Speedup'} over the baseline"


def scaling_legend(found: Sequence[Curve]) -> str | None:
    """State in one line what scaled speedups compare; None where none is scaled."""
    kinds = {row["scaling"] for curve in found for row in curve.rows}
    told = "speedup compares work per second."
    if "mixed" in kinds:
        return f"The work differs between N: {told}"
    weak = f"Weak scaling (the same work per worker at every N): {told}"
    return weak if "weak" in kinds else None


def told_doubts(row: Row) -> str:
    """Flags of a configuration."""
    return ", ".join(flags_of(row))


def failed(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name every configuration that failed, with its error."""
    for name, row in named(points, names):
        if row["error"]:
            yield f"{name} at N = {row['workers']} failed: {row['error']}"


def trials_of(points: Sequence[Row]) -> str:
    """State the numbers of ranks and of trials."""
    counts = sorted({row["workers"] for row in points})
    on = plural(counts[0], "rank") if len(counts) == 1 else f"N = {listing(counts)} ranks"
    return f"on {on}, {of_each(row['repeats'] for row in points)}"


def named(rows: Iterable[Row], names: Mapping[str, str]) -> list[tuple[str, Row]]:
    """Put its name before every row."""
    return [(names[row["stage"]], row) for row in rows]


def places(names: Mapping[str, str]) -> Callable[[list[Row]], list[str]]:
    """Name configurations, each once with all its N."""
    return lambda rows: at_each_n((names[row["stage"]], row["workers"]) for row in rows)


def limits(found: Sequence[Limits]) -> Iterator[str]:
    """State what limits the configurations of one curve, equal sentences once."""
    shared: dict[str, Any] = {"whole": TAKEN_OUT_WHOLE, "needed": repeats_needed()}
    said = grouped(
        (sentence, one.workers)
        for one in found
        for sentence in templating.sentences("limits.j2", found=one, rival=rival(one), **shared)
    )
    yield from (f"At N = {listing(counts)}{sentence}" for sentence, counts in said.items())


def rival(found: Limits) -> Cause | None:
    """The cause that is first most often beside the main one; that one where it is alone."""
    others = found.causes[1:] or found.causes
    return max(others, key=lambda cause: cause.share_first or 0.0, default=None)


def laws(found: CurveFits, excluded: Sequence[int] = ()) -> list[str]:
    """State the laws fitted to one curve, or why one is not, and the N that they exclude."""
    fits = (found.amdahl, found.usl)
    return templating.sentences("laws.j2", laws=fits, excluded=excluded)


class Said(Record):
    """The warning of one stage under one code."""

    stage: str = Field(description="Entry of the suite; of the points of a grid that of the grid")
    code: str
    doubts_result: bool = Field(description="Whether the result may be wrong for it")
    sentence: str

    @property
    def head(self) -> str:
        """The stage, and whether its result is in doubt."""
        return f"{self.stage}, the result may be wrong" if self.doubts_result else self.stage

    @property
    def short(self) -> str:
        """The stage and the first sentence: the report has the rest."""
        return f"{self.head}: {self.sentence.partition('. ')[0].rstrip('.')}."


def warnings(trials: pl.DataFrame, grids: Iterable[GridFindings] = ()) -> tuple[Said, ...]:
    """Give the worst warning of each stage under each code over all N, the doubted ones first.

    The points of a grid count as one stage.
    """
    points = [row for grid in grids for row in grid.points.select("stage", "family").iter_rows()]
    stages = trials.group_by(pl.col("stage").replace(dict(points)), maintain_order=True)
    found = [_warning(str(stage), one) for (stage,), own in stages for one in of_trials(own)]
    return tuple(sorted(found, key=lambda one: not one.doubts_result))


def _warning(stage: str, found: CodeWarning) -> Said:
    worst, others = found.worst, found.others
    sentence = f"{titled(worst.sentence).rstrip('.')}."
    sentence += f" ({others} similar: provenance_manifest.json.)" if others else ""
    return Said(stage=stage, code=worst.code, doubts_result=worst.doubts_result, sentence=sentence)


def missed(results: Results) -> Iterator[str]:
    """Name each measure that is worse than its suite asks for, or was not measured."""
    for curve in curves(results.configurations):
        work = results.context.works.get(curve.key["stage"])
        if work is None:
            continue
        # Of worker counts that compute the same, the first alone may have been judged.
        for row in distinct(curve) or curve.rows[:1]:
            measured = json.loads(row["quality"])
            for name in work.at_least | work.at_most:
                value = measured.get(name)
                least, most = work.at_least.get(name, -math.inf), work.at_most.get(name, math.inf)
                told = f"{curve.name}: {name} is {number(value)}; the suite requires at"
                if value is None:
                    yield f"{curve.name}: {name} was not measured; the suite requires it."
                elif value < least:
                    yield f"{told} least {least:g}."
                elif value > most:
                    yield f"{told} most {most:g}."


def distinct(curve: Curve) -> list[Row]:
    """Configurations whose quality is known, but those that give the same as the one before."""
    # Backwards, so that the first row of each value stays.
    first = {row["quality"]: row for row in reversed(curve.rows) if row["quality"] != "{}"}
    return [row for row in curve.rows if first.get(row["quality"]) is row]


def worse(found: pl.DataFrame | None) -> list[str]:
    """Name each number that is worse at an N than at the fewest workers."""
    rows = [] if found is None else found.filter("worse").to_dicts()
    return templating.sentences("curves.j2", "worse", rows=rows)


def validated(found: ValidationFindings) -> tuple[str, list[str]]:
    """State whether the installation computes what it should, and why of each stage."""
    headline, *reasons = templating.sentences("validation.j2", found=found)
    return headline, reasons
