"""The analysis as text, written from the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.intervals import resamples
from pyscale.analysis.laws import POOR_FIT
from pyscale.report import (
    advice,
    beside,
    costs,
    gate,
    laws,
    scalingkind,
    sentences,
    starts,
    versions,
)
from pyscale.report.context import ReportContext
from pyscale.report.curves import Curve, curves
from pyscale.report.grid import text as grid_text
from pyscale.report.grid.scope import about_workers, without_apart
from pyscale.report.grid.sweep import largest_px, sweeps
from pyscale.report.loader import section as loader_section
from pyscale.report.machine import section as machine_section
from pyscale.report.machine.tables import plain
from pyscale.report.page.table import Table
from pyscale.report.quality import missed, right
from pyscale.report.reconstruct import section as reconstruct_section
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.report.validation import text as validation_text
from pyscale.report.warned import said
from pyscale.report.wording import (
    ABSENT,
    INVALID,
    agreement,
    efficiency,
    factor,
    growth,
    number,
    phase,
    seconds,
    speedup,
    wall_time,
)
from pyscale_stages.atomic import write_atomically

NAME = "scaling_analysis.md"
MOST_NAMED = 4
"""Entries that are named beside an algorithm; a grid may have many."""
RESULT_COLUMNS = (
    *("Stage", "N", "Trials", "Wall time (s)", "Speedup", "Efficiency", "Load balance"),
    *("Computation scaling", "Useful share", "Worker-seconds", "Cache", "Agreement"),
    "Flags",
    "Warnings",
)


def write_markdown(folder: Path, results: Results) -> Path:
    """Write the text; each sentence follows from the tables or stands in the context."""
    every = curves(without_apart(results.configurations, results))
    machine = machine_section.section(results)
    loader = loader_section.section(results)
    reconstruct = reconstruct_section.section(results)
    apart = [one for one in (reconstruct, loader, machine) if one]
    not_to_be_trusted = [*gate.not_to_be_trusted(results.configurations), *missed(results)]
    doubts = [
        *sentences.doubts_and_drifts(every, results.drifts),
        *(doubt for one in apart for doubt in one["doubts"]),
    ]
    grids = grid_text.sections(results)
    warned = said(results.trials, results.grids)
    results = about_workers(results)
    found = curves(results.configurations)
    context = results.context
    properties = list(dict.fromkeys(name for node in context.hardware for name in node))
    template = templates().overlay(finalize=_as_text).get_template(f"{NAME}.j2")
    text = template.render(
        title=context.title,
        stand_ins=context.stand_ins,
        settings=context.settings,
        timed=list(_timed(context)),
        hardware_columns=properties,
        hardware=[[node.get(name, ABSENT) for name in properties] for node in context.hardware],
        result_columns=RESULT_COLUMNS,
        results=[_result(curve, row) for curve in found for row in curve.rows],
        right=right(found, context.works),
        choice_columns=advice.COLUMNS,
        choices=advice.rows(found, results.choices),
        meaning=[
            f"{advice.NAMES[objective]}: {meaning}"
            for objective, meaning in advice.MEANING.items()
            if any(choice.objective == objective for choice in results.choices)
        ],
        how_sure=advice.HOW_SURE,
        doubts=doubts,
        warned=warned,
        not_to_be_trusted=not_to_be_trusted,
        grids=grids,
        machine=machine,
        loader=loader,
        reconstruct=reconstruct,
        beside_columns=beside.COLUMNS,
        beside=beside.rows(found),
        cost_columns=costs.columns(found),
        costs=costs.rows(found),
        too_much=list(beside.too_much(found)),
        stages=[_stage(curve, results) for curve in found],
        has_laws=bool(results.fits),
        is_interleaved=results.interleaved,
        is_scaled=scalingkind.legend(found) is not None,
        is_over_n=bool(found) or not (results.grids or apart),
        is_over_size=bool(results.grids),
        is_of_machine=machine is not None,
        is_of_loader=loader is not None,
        is_of_reconstruct=reconstruct is not None,
        not_measured=[
            *sentences.not_measured(every, largest_px(sweeps(results.grids))),
            *(sentence for one in apart for sentence in one["not_measured"]),
            *context.not_measured,
        ],
        resamples=resamples(max([1, *(row["repeats"] for curve in found for row in curve.rows)])),
        small_part=f"{100 * sentences.SMALL_PART:g} %",
        poor_fit=f"{100 * POOR_FIT:g} %",
        validation=validation_text.section(results.validation),
        versions=versions.section(results.versions),
        starts=starts.section(results.starts),
        table=table,
        of_stages=partial(_of_stages, _algorithms(found, context)),
        laid_out=laid_out,
    )
    write_atomically(folder / NAME, text)
    return folder / NAME


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in GitHub's flavour of markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(value) for value in line)} |" for line in lines)


def _algorithms(found: Sequence[Curve], context: ReportContext) -> dict[str, str]:
    """The algorithm behind the name of each curve, as far as known."""
    works = {curve.name: context.works.get(curve.key["stage"]) for curve in found}
    return {name: work.how for name, work in works.items() if work}


def _of_stages(
    algorithms: Mapping[str, str], columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    """Write a table whose first column names stages, with the algorithm of each where known."""
    if not algorithms:
        return table(columns, rows)
    named = ([row[0], algorithms.get(str(row[0]), ABSENT), *row[1:]] for row in rows)
    return table([columns[0], "Algorithm", *columns[1:]], named)


def _timed(context: ReportContext) -> Iterator[str]:
    """State which algorithms ran, each once with the entries that ran it."""
    entries: dict[str, list[str]] = {}
    for entry, work in context.works.items():
        entries.setdefault(work.how, []).append(entry)
    for how, names in entries.items():
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        yield f"{how} ({', '.join([*names[:MOST_NAMED], *more])})"


def laid_out(shown: Table) -> str:
    """Write a table of the page."""
    return table(*plain(shown))


def _as_text(value: object) -> object:
    """Keep a name from being taken for HTML, which begins like this, as numbers do not."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", value) if isinstance(value, str) else value


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _result(curve: Curve, row: dict[str, Any]) -> list[object]:
    return [
        curve.name,
        row["workers"],
        row["repeats"],
        wall_time(row),
        speedup(row),
        efficiency(row),
        *(
            factor(row, column)
            for column in ("load_balance", "computation_scaling", "useful_share")
        ),
        number(row["worker_seconds"]),
        row["cache_state"] or ABSENT,
        agreement(row),
        ", ".join(row["flags"]) or ABSENT,
        ", ".join(row["warnings"]) or ABSENT,
    ]


def _stage(curve: Curve, results: Results) -> dict[str, object]:
    columns, rows = _loss_table(curve, results.losses)
    return {
        "name": results.context.named(curve.name, curve.key["stage"]),
        "base_case": sentences.base_case(curve),
        "work": scalingkind.work(curve),
        "held_against": scalingkind.held_against(curve.rows[0]),
        "speedups": list(sentences.speedups(curve)),
        "loss_columns": columns,
        "loss_rows": rows,
        "lost_time": list(sentences.lost_time(curve, results.losses)),
        "request": advice.section(
            curve, results.choices, results.limits, results.requests, results.context.measured_for
        ),
        "laws": [
            *laws.of_curve(curve, results.fits),
            *filter(None, [sentences.serial_fractions(curve)]),
        ],
    }


def _loss_table(curve: Curve, losses: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Worker-seconds by part, one row per worker count; parts that never occur are left out."""
    own = curve.select(losses)
    parts = [
        part
        for (part,), rows in own.group_by("part", maintain_order=True)
        if any(seconds(held) != "0" for held in rows["worker_seconds"])
    ]
    invalid = {row["workers"] for row in curve.rows if row["invalid"]}
    found = []
    for (workers,), rows in own.group_by("workers", maintain_order=True):
        held = dict(zip(rows["part"], rows["worker_seconds"], strict=True))
        grown = dict(zip(rows["part"], rows["growth_s"], strict=True))
        is_base = workers == rows["baseline_workers"][0]
        cells = [_held(held[part], None if is_base else grown[part]) for part in parts]
        total = _held(sum(held.values()), None if is_base else sum(grown.values()))
        name = f"{workers} ({INVALID})" if workers in invalid else str(workers)
        found.append([name, total, *cells])
    return ["N", "N x wall time", *(phase(part) for part in parts)], found


def _held(worker_seconds: float, growth_s: float | None) -> str:
    held = seconds(worker_seconds)
    return held if growth_s is None else f"{held} ({growth(growth_s)})"
