"""The analysis as a text that is written from the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.analysis.drift import Drift
from pyscale.analysis.fits import CurveFits
from pyscale.analysis.intervals import RESAMPLES
from pyscale.analysis.laws import POOR_FIT
from pyscale.report import beside, laws, sentences
from pyscale.report.context import ReportContext
from pyscale.report.curves import Curve, curves
from pyscale.report.wording import (
    ABSENT,
    agreement,
    growth,
    number,
    phase,
    quality,
    ratio,
    seconds,
    speedup,
    wall_time,
)
from pyscale_stages.atomic import write_atomically

if TYPE_CHECKING:
    import polars as pl

NAME = "scaling_analysis.md"
RESULT_COLUMNS = (
    *("Stage", "N", "Trials", "Wall time (s)", "Speedup", "Efficiency", "Load balance"),
    *("Computation scaling", "Useful share", "Worker-seconds", "Cache", "Agreement"),
    *("Quality", "Flags"),
)


def write_markdown(
    folder: Path,
    configurations: pl.DataFrame,
    losses: pl.DataFrame,
    context: ReportContext,
    *,
    fits: Sequence[CurveFits] = (),
    drifts: Sequence[Drift] = (),
) -> Path:
    """Write the text; each sentence follows from the tables or stands in the context."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = curves(configurations)
    environment = Environment(
        loader=PackageLoader("pyscale.report"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    properties = list(dict.fromkeys(name for node in context.hardware for name in node))
    text = environment.get_template(f"{NAME}.j2").render(
        title=context.title,
        settings=context.settings,
        hardware_columns=properties,
        hardware=[[node.get(name, ABSENT) for name in properties] for node in context.hardware],
        result_columns=RESULT_COLUMNS,
        results=[_result(curve, row) for curve in found for row in curve.rows],
        beside_columns=beside.columns(found),
        core_hours=beside.CORE_HOURS,
        beside=beside.rows(found),
        too_much=list(beside.too_much(found)),
        stages=[_stage(curve, losses, fits, drifts) for curve in found],
        has_laws=bool(fits),
        not_measured=[*sentences.not_measured(found), *context.not_measured],
        resamples=RESAMPLES,
        small_part=f"{100 * sentences.SMALL_PART:g} %",
        poor_fit=f"{100 * POOR_FIT:g} %",
        table=table,
    )
    write_atomically(folder / NAME, text)
    return folder / NAME


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in GitHub's flavour of markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(value) for value in line)} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _result(curve: Curve, row: dict[str, Any]) -> list[object]:
    return [
        curve.name,
        row["workers"],
        row["repeats"],
        wall_time(row),
        speedup(row),
        *(
            ratio(row[column])
            for column in ("efficiency", "load_balance", "computation_scaling", "useful_share")
        ),
        number(row["worker_seconds"]),
        row["cache_state"] or ABSENT,
        agreement(row),
        quality(row["quality"]),
        ", ".join(row["flags"]) or ABSENT,
    ]


def _stage(
    curve: Curve, losses: pl.DataFrame, fits: Sequence[CurveFits], drifts: Sequence[Drift]
) -> dict[str, object]:
    columns, rows = _loss_table(curve, losses)
    remarks = (
        sentences.serial_fractions(curve),
        sentences.agreement(curve),
        sentences.correctness(curve),
    )
    return {
        "name": curve.name,
        "base_case": sentences.base_case(curve),
        "speedups": list(sentences.speedups(curve)),
        "loss_columns": columns,
        "loss_rows": rows,
        "lost_time": list(sentences.lost_time(curve, losses)),
        "remarks": [sentence for sentence in remarks if sentence],
        "laws": [sentence for own in fits if curve.owns(own) for sentence in laws.sentences(own)],
        "doubts": [
            *sentences.doubts(curve),
            *(sentence for own in drifts if curve.owns(own) for sentence in own.sentences()),
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
    found = []
    for (workers,), rows in own.group_by("workers", maintain_order=True):
        held = dict(zip(rows["part"], rows["worker_seconds"], strict=True))
        grown = dict(zip(rows["part"], rows["growth_s"], strict=True))
        is_base = workers == rows["baseline_workers"][0]
        cells = [_held(held[part], None if is_base else grown[part]) for part in parts]
        total = _held(sum(held.values()), None if is_base else sum(grown.values()))
        found.append([str(workers), total, *cells])
    return ["N", "N x wall time", *(phase(part) for part in parts)], found


def _held(worker_seconds: float, growth_s: float | None) -> str:
    held = seconds(worker_seconds)
    return held if growth_s is None else f"{held} ({growth(growth_s)})"
