"""The answers of a report as data: what `pyscale report --json` prints."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from pyscale.analysis.trust import Trust
from pyscale.report.bottomline import StageLine, bottom_line
from pyscale.report.csv import files_of
from pyscale.report.kinds import sections_of, stage_sections
from pyscale.report.page.values import CONFIGURATIONS, Cell, Value, cell_text
from pyscale.report.results import Results
from pyscale.report.section import Answered
from pyscale.wording import number, ratio
from pyscale_stages.contract import Record


class Number(Record):
    """A number of a claim, and the cell of a CSV that holds it."""

    value: float
    low: float | None = Field(None, description="Lower end of the 95 % interval, if known")
    high: float | None = Field(None, description="Upper end of it")
    table: str = Field(description="Key of `files`")
    key: str = Field(description="Values that name its row, with | between")
    column: str


class Claim(Record):
    """One thing that a report says of one subject."""

    about: str = Field(description="Stage, image, machine or question")
    claim: str = Field(description="What it answers, as `data-answer` on the page")
    text: str
    numbers: tuple[Number, ...] = Field((), description="In the order of the text")
    confidence: str | None = Field(None, description="Of a request, as `likely (86 %)`")
    trust: Trust | None = None
    why: tuple[str, ...] = Field((), description="Why it is trusted so")


class Answers(Record):
    """What a report says, for programs."""

    title: str
    run_id: str | None
    request: tuple[str, ...] = Field(description="What to ask for, of all stages over N")
    outputs: str = Field(description="Whether N workers computed the same")
    claims: tuple[Claim, ...]
    doubts: tuple[str, ...]
    settles: str | None = Field(description="The run that would make the request surer, to paste")
    files: dict[str, str] = Field(description="Tables of the report, by the keys of numbers")


def answers_of(results: Results) -> Answers:
    """Collect the answers of a report."""
    line = bottom_line(results)
    kinds = sections_of(results)
    return Answers(
        title=results.context.title,
        run_id=results.context.run_id,
        request=line.request,
        outputs=line.outputs_sentence,
        claims=(
            *(claim for stage in line.stages for claim in _of_stage(stage)),
            *(
                _claim(one, answer.answers, (*answer.head, *answer.rest), text=answer.text)
                for section in kinds
                for one in section.answered
                for answer in one.answers
            ),
        ),
        doubts=(
            *(doubt for one in (*stage_sections(results), *kinds) for doubt in one.doubts),
            *results.context.lacking,
        ),
        settles=line.next_run.command if line.next_run else None,
        files=files_of(results),
    )


def _of_stage(line: StageLine) -> Iterator[Claim]:
    if line.shown is not None:
        cell = CONFIGURATIONS.interval_cell(line.shown, "speedup", ratio)
        yield _claim(line, "speedup", (*cell, f" times as fast at N = {line.shown['workers']}"))
    if (chosen := line.at(line.chosen)) is not None:
        wall_s = CONFIGURATIONS.interval_cell(chosen, "wall_s", number)
        each = f"; each task: {line.each_task}" if line.each_task else ""
        told = (f"N = {line.chosen}: ", *wall_s, f" s{each}")
        yield _claim(line, "request", told, confidence=line.confidence)
    else:
        yield _claim(line, "request", (f"No N is advised: {line.refusal}",))
    yield _claim(line, "limit", (line.limit_sentence,))


def _claim(
    about: StageLine | Answered,
    claim: str,
    cell: Cell,
    *,
    text: str = "",
    confidence: str | None = None,
) -> Claim:
    return Claim(
        about=about.name,
        claim=claim,
        text=text or cell_text(cell),
        numbers=tuple(_numbers(cell)),
        confidence=confidence,
        trust=about.trust,
        why=about.reasons,
    )


def _numbers(cell: Cell) -> Iterator[Number]:
    values = [part for part in cell if isinstance(part, Value)]
    at = {(one.key, one.column): float(one.raw) for one in values}
    for one in values:
        if not one.column.endswith(("_low", "_high")):
            low, high = (at.get((one.key, f"{one.column}{end}")) for end in ("_low", "_high"))
            yield Number(
                value=float(one.raw),
                low=low,
                high=high,
                table=one.table,
                key=one.key,
                column=one.column,
            )
