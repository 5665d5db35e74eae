"""Sets of results side by side, from what the analysis found in each, and as a table."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pyscale.analysis.causes import Limits
from pyscale.analysis.machine.sidebyside import MachineSide
from pyscale.analysis.sidebyside import Beside, Side, stages_beside
from pyscale.planning.runfacts import HARDWARE
from pyscale.report.viewer.model import (
    Cell,
    Column,
    Kind,
    Layout,
    Note,
    Property,
    Row,
    Speedup,
    Tag,
    Viewer,
)
from pyscale.wording import ABSENT


@dataclass(frozen=True)
class Source:
    """A set of results that is to be a column; `id` is None where it is the letter of its place.

    `limits` are those of its configurations, empty where nothing is known. `hardware` has property
    and value, in the order to print.
    """

    name: str
    kind: Kind
    side: Side | MachineSide
    limits: Sequence[Limits] = ()
    hardware: Mapping[str, str] = field(default_factory=dict)
    about: str | None = None
    href: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class SideBySide(Beside):
    """The tables behind a viewer, with what its columns are."""

    columns: tuple[Column, ...]
    sources: tuple[Source, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], line_up: Callable[[Sequence[Any]], Beside] = stages_beside
    ) -> SideBySide:
        """Line up the results of all sources."""
        columns = tuple(
            Column(
                id=source.id or letter(place),
                name=source.name,
                kind=source.kind,
                about=source.about,
                href=source.href,
            )
            for place, source in enumerate(sources)
        )
        found = line_up([source.side for source in sources])
        return cls(**vars(found), columns=columns, sources=tuple(sources))

    def cells(self, tag: Callable[[Mapping[str, Any]], Tag | None]) -> dict[tuple[Any, ...], Cell]:
        """Cells by the place of their column and their labels; `tag` is asked of every time."""
        against: dict[tuple[Any, ...], dict[int, Speedup]] = {}
        for row in self.speedups.to_dicts():
            against.setdefault(self._key(row), {})[row["base"]] = Speedup(
                value=row["speedup"],
                low=row["speedup_low"],
                high=row["speedup_high"],
                why_not=row["why_not"],
                of_rates=True if row["basis"] == "rate" else None,
            )
        told = [name for name in self.rows.columns if name in Cell.model_fields]
        cells = {}
        for row in self.rows.to_dicts():
            own = against.get(key := self._key(row), {})
            cells[key] = Cell(
                **{name: row[name] for name in told} | {"invalid": bool(row["invalid"])},
                tag=tag(row),
                speedups=tuple(map(own.get, range(len(self.columns)))),
            )
        return cells

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (row["side"], *(row[name] for name in self.names))


def letter(place: int) -> str:
    """Name of a column: A to Z, then A1 to Z1 and so on."""
    turn, rest = divmod(place, len(string.ascii_uppercase))
    return string.ascii_uppercase[rest] + (str(turn) if turn else "")


def viewer_of(
    found: SideBySide,
    layout: Layout,
    rows: Sequence[Row],
    notes: Iterable[Note],
    *,
    why_not: Mapping[str, str],
    of_rates: str | None = None,
) -> Viewer:
    """Shape what is shown; of the sentences those that something calls for."""
    told = [
        speedup
        for row in rows
        for cell in row.cells
        if cell is not None and cell.wall_s is not None
        for speedup in cell.speedups
        if speedup is not None
    ]
    reasons = {speedup.why_not for speedup in told}
    return Viewer(
        layout=layout,
        columns=found.columns,
        properties=tuple(properties(found.sources)),
        rows=tuple(rows),
        notes=tuple(notes),
        why_not={code: sentence for code, sentence in why_not.items() if code in reasons},
        of_rates=of_rates if any(speedup.of_rates for speedup in told) else None,
    )


def properties(sources: Sequence[Source]) -> list[Property]:
    """Hardware of all columns, property by property; a run has said all that a stamp can."""
    found = []
    for what in dict.fromkeys(name for source in sources for name in source.hardware):
        values = tuple(
            source.hardware.get(what)
            or (ABSENT if source.kind == "run" and what in HARDWARE else None)
            for source in sources
        )
        told = {value for value in values if value is not None}
        found.append(Property(what=what, values=values, differs=len(told) > 1))
    return found


BASE = 0
"""Place of the column that the file's speedups are over."""
JUDGED = ("verdict", "reason", "ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond")


def comparison_table(found: SideBySide, layout: Layout) -> pl.DataFrame:
    """Lay out every time of every column, with its speedup over the first column."""

    def of_column(told: str, place: str = "side") -> pl.Expr:
        values = {place: getattr(column, told) for place, column in enumerate(found.columns)}
        return pl.col(place).replace_strict(values, return_dtype=pl.String)

    one = ["side", *found.names]
    speedups = found.speedups.filter(pl.col("base") == BASE).rename({"why_not": layout.no_speedup})
    return (
        found.rows.join(speedups, on=one, how="left", nulls_equal=True, maintain_order="left")
        .join(_judged(found), on=one, how="left", nulls_equal=True, maintain_order="left")
        .select(
            of_column("id"),
            of_column("name").alias("name"),
            of_column("kind").alias(layout.source),
            *(*found.names, *layout.told),
            of_column("id", "base"),
            *("speedup", "speedup_low", "speedup_high", "basis", layout.no_speedup, *JUDGED),
        )
        .with_columns(pl.col(pl.List(pl.String)).list.join(" "))
    )


def _judged(found: SideBySide) -> pl.DataFrame:
    schema: dict[str, Any] = {name: found.rows.schema[name] for name in ("side", *found.names)}
    schema |= dict.fromkeys(JUDGED, pl.Float64) | dict.fromkeys(("verdict", "reason"), pl.String)
    tables = [
        table.drop_nulls("verdict").select(pl.lit(new, pl.Int64).alias("side"), *list(schema)[1:])
        for (base, new), table in found.pairs.items()
        if base == BASE
    ]
    return pl.concat([pl.DataFrame(schema=schema), *tables])
