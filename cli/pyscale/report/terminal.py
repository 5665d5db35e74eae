"""What was measured, for the terminal: it ends with the verdict."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report import pipeline, quality
from pyscale.report.bottomline import bottom_line
from pyscale.report.bottomview import BottomView
from pyscale.report.comparisonview import Compared, shown
from pyscale.report.curves import curves
from pyscale.report.fitted import terminal_table
from pyscale.report.kinds import sections_of
from pyscale.report.quality import worse
from pyscale.report.results import Results
from pyscale.report.section import summary
from pyscale.report.sentences import warnings
from pyscale.report.validation import lines as validation_lines

NO_RESULTS = "No trial has a record, so there are no results."


def summary_of(
    results: Results, *, verbose: bool = False, with_quality: bool = False
) -> RenderableType:
    """Lay out everything that was measured, and end with the verdict on stages over N.

    `verbose` shows the tables of the report on stages over N and all notes too; `with_quality` the
    quality alone, as the user gave a truth.
    """
    of_kinds = sections_of(results)
    line = bottom_line(results)
    told: list[RenderableType] = [*validation_lines(results.validation)]
    for one in (*of_kinds, *(pipeline.sections(results) if verbose else ())):
        told += summary(one)
    works = results.context.works
    if not verbose and (with_quality or any(work.asked for work in works.values())):
        # A suite that asks for quality is run to read it, as is one with a truth.
        right = quality.right(curves(results.about_workers().configurations), works)
        told += [Text(f"\n{right.caption}"), terminal_table(right)] if right else []
    versions = results.versions
    if versions is not None:
        compared = Compared.of(versions)
        told += [Text(), shown(compared)]
        told += [Text(compared.headline, "bold")] if compared.headline else []
    told += map(Text, worse(results.measured))
    for one in warnings(results.trials, results.every(GridFindings)):
        # By its first sentence: the report has the rest.
        style = "bold red" if one.doubts_result else "bold"
        told.append(Text.assemble((one.head, style), one.short.removeprefix(one.head)))
    if line.stages:
        told += [Text()] if told else []
        told.append(BottomView(results.context.title, line, results))
        told += [Text(f"Note: {note}.") for note in line.notes] if verbose else []
    elif not of_kinds:
        told.append(Text(NO_RESULTS))
    return Group(*told)
