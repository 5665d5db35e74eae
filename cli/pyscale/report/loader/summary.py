"""Loading of patches for the terminal: the answer, what to paste, a table, and the doubts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyscale.report.fitted import Fitted, grouped_table, plain
from pyscale.report.loader.section import section
from pyscale.report.loader.verdict import QUESTION
from pyscale.report.loader.words import KILO, MILLI, names_of
from pyscale.report.ofranks import Row
from pyscale.report.results import Results
from pyscale.report.wording import ABSENT, gib, number, with_interval

if TYPE_CHECKING:
    from rich.console import RenderableType

NARROW = "The table of configurations needs a wider terminal; the report has it."
HEADERS = (
    *("N", "patches/s\n[95 %]", "inferred", "wait p99\nms", "memory\nGiB", "storage\nkB/patch"),
    *("effective\nslides", "feeds"),
)


def loader_summary(results: Results) -> list[RenderableType]:
    """Say whether storage feeds the GPU, with which settings, and lay the configurations out."""
    from rich.text import Text

    told = section(results)
    if told is None or results.loader is None:
        return []
    points = results.loader.points.to_dicts()
    names = names_of(points)
    shown: list[RenderableType] = [Text(f"\n{QUESTION}", "bold")]
    shown += [Text(plain(said)) for said in (told["feeds"], *told["advised"]) if said]
    for what, line in told["paste"]:
        shown += [Text(f"{what}:"), Text(line, "bold")]
    shown.append(Text("\nConfigurations", "bold"))
    rows = [(names[row["stage"]], _cells(row)) for row in points]
    whole, short = (
        grouped_table("configuration", headers, rows) for headers in (HEADERS, HEADERS[:3])
    )
    shown.append(Fitted(whole, short, NARROW))
    said = [*told["same"], *told["apart"], *told["doubts"], *_errors(points, names)]
    return [*shown, *(Text(plain(sentence)) for sentence in said)]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(row["workers"]),
        _rate(row),
        number(row["inferred_per_s"]),
        _scaled(row, "wait_p99_s", MILLI),
        gib(row["pss_bytes"]),
        _scaled(row, "storage_read_bytes_per_patch", KILO),
        number(row["effective_slides"]),
        row["feeds"] or ABSENT,
    )


def _rate(row: Row) -> str:
    if row["patches_per_s"] is None:
        return "failed" if row["failed"] else ABSENT
    return with_interval(*(number(row[f"patches_per_s{end}"]) for end in ("", "_low", "_high")))


def _scaled(row: Row, column: str, scale: float) -> str:
    return ABSENT if row[column] is None else number(row[column] / scale)


def _errors(points: Sequence[Row], names: Mapping[str, str]) -> list[str]:
    return [
        f"{names[row['stage']]} at N = {row['workers']} failed: {row['error']}"
        for row in points
        if row["error"]
    ]
