"""Sets of results side by side, a column each, against a chosen base: on a page and as a table."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.align import Beside
from pyscale.analysis.causes import Limits
from pyscale.analysis.comparison import Side, stages_beside
from pyscale.analysis.machine.beside import OF_RATES, MachineSide
from pyscale.planning.runfacts import HARDWARE
from pyscale.report.machine.bench import not_applicable, rate_parts
from pyscale.wording import ABSENT, coarse, grouped, number
from pyscale_stages.contract import Record


class Column(Record):
    """One set of results."""

    id: str = Field("", description="A letter, by which rows and files name the column")
    name: str = Field(description="What it is, for people")
    kind: Literal["run", "reference", "table"]
    about: str | None = Field(None, description="What else a reader must know of it, in a line")
    href: str | None = Field(None, description="Its own page, where there is one")


@dataclass(frozen=True)
class Source:
    """What a column is made of; without an id it has the letter of its place.

    `limits` are those of its configurations, empty where nothing is known. `hardware` has property
    and value, in the order to print.
    """

    column: Column
    side: Side | MachineSide
    limits: Sequence[Limits] = ()
    hardware: Mapping[str, str] = field(default_factory=dict)


class Property(Record):
    """One property of the hardware, as each column states it."""

    what: str
    values: tuple[str | None, ...] = Field(description="None where a column does not tell")
    differs: bool = Field(description="Whether columns that tell do not tell the same")


class Speedup(Record):
    """A time of the base over that of a column."""

    value: float | None = Field(None, description="Above 1 faster than the base")
    low: float | None = Field(None, description="Lower end of its interval, a 95 % bound")
    high: float | None = Field(None, description="Upper end of its interval, a 95 % bound")
    why_not: str | None = Field(None, description="Key of `Viewer.why_not` where there is none")
    of_rates: Literal[True] | None = Field(
        None, description="Where it is no ratio of times: amounts are not the same in both"
    )


class Tag(Record):
    """The likely bottleneck of one time."""

    text: str = Field(description="In a word or two")
    why: str = Field(description="What says so, in sentences")


class Cell(Record):
    """One time of one column, and how people read it."""

    wall_s: float | None = Field(description="None where nothing was timed")
    wall_s_low: float | None = Field(None, description="Lower end of its 95 % interval")
    wall_s_high: float | None = Field(None, description="Upper end of its 95 % interval")
    percent: float | None = Field(None, description="Of the column's sum that it is a part of")
    repeats: int | None = Field(None, description="Timed trials")
    amount: float | None = Field(None, description="How much each call did, in `unit`")
    unit: str | None = None
    rate: float | None = Field(None, description="Amount over time, in `unit` a second")
    device_name: str | None = Field(None, description="Of a GPU that did a test")
    cache: str | None = Field(None, description="Page cache of what was read")
    why_not: str | None = Field(None, description="Why there is no time, in words")
    invalid: bool = Field(False, description="Whether the output is not what it should be")
    tag: Tag | None = None
    speedups: tuple[Speedup | None, ...] = Field(
        description="Against each column; None against itself"
    )

    @property
    def cannot(self) -> str:
        """Why there is no time, as it stands in the table."""
        return "not timed" if self.why_not is None else not_applicable(self.why_not)

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers as people read them."""
        scale, unit = rate_parts(self.rate, self.unit)
        times = ("wall_s", "wall_s_low", "wall_s_high")
        return {
            **{name: number(getattr(self, name)) for name in times},
            "percent": coarse(self.percent),
            "repeats": str(self.repeats),
            "rate": number(None if self.rate is None else self.rate / scale),
            "rate_unit": unit,
        }


class Row(Record):
    """One time of every column."""

    labels: dict[str, str | int | None] = Field(
        description="What names it within a column, as in the CSV"
    )
    group: str = Field(description="What it stands under", exclude=True)
    name: str = Field(description="What to call it")
    heads: bool = Field(False, description="Whether it sums up its group", exclude=True)
    part: bool = Field(False, description="Whether it is a part of the time above it")
    curve: str | None = Field(None, description="Name of the stage, as the whole page calls it")
    cells: tuple[Cell | None, ...] = Field(description="None where a column has no such time")

    def key(self, column: str) -> str:
        """What names the row of a column in the CSV."""
        values = (column, *self.labels.values())
        return "|".join("" if value is None else str(value) for value in values)


class Layout(Record):
    """What one kind of viewer holds; what it calls it is in its template."""

    id: str
    file: str = Field(description="Name of the table as a file, without its ending")
    told: tuple[str, ...] = Field(description="What the file has of each time, in order")
    source: str = Field(description="Column of the file that says what a column holds")
    no_speedup: str = Field(description="Column of the file that says why there is no speedup")
    why_not: dict[str, str] = Field(description="Sentences for the reasons against a speedup")


class Viewer(Record):
    """Everything that stands side by side."""

    layout: Layout
    names: tuple[str, ...] = Field(description="Labels of a row, in order")
    columns: tuple[Column, ...]
    properties: tuple[Property, ...]
    rows: tuple[Row, ...] = Field(description="By group, each before its parts")

    @property
    def speedups(self) -> list[Speedup]:
        """Those of all times that are shown."""
        cells = [cell for row in self.rows for cell in row.cells if cell is not None]
        return [one for cell in cells if cell.wall_s is not None for one in cell.speedups if one]

    @property
    def why_not(self) -> dict[str, str]:
        """Sentences for the reasons that occur."""
        reasons = {one.why_not for one in self.speedups}
        return {code: told for code, told in self.layout.why_not.items() if code in reasons}

    @property
    def of_rates(self) -> str | None:
        """What a ratio of rates is, where there is one."""
        return OF_RATES if any(one.of_rates for one in self.speedups) else None

    @property
    def data(self) -> dict[str, Any]:
        """What viewer.js reads."""
        layout = self.layout
        return self.model_dump(mode="json", exclude={"layout"}, exclude_none=True) | {
            "why_not": self.why_not,
            "of_rates": self.of_rates,
            "written": [name for name in layout.told if name in Cell.model_fields],
            "source": layout.source,
            "no_speedup": layout.no_speedup,
            "file": layout.file,
        }

    @property
    def groups(self) -> dict[str, list[tuple[int, Row]]]:
        """Rows of every group, each with its place among all."""
        return grouped((row.group, (place, row)) for place, row in enumerate(self.rows))


@dataclass(frozen=True)
class SideBySide(Beside):
    """The tables behind a viewer, with what its columns are."""

    sources: tuple[Source, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], line_up: Callable[[Sequence[Any]], Beside] = stages_beside
    ) -> SideBySide:
        """Line up the results of all sources."""
        columns = tuple(
            one.column.model_copy(update={"id": one.column.id or letter(place)})
            for place, one in enumerate(sources)
        )
        found = line_up([source.side for source in sources])
        return cls(**vars(found), columns=columns, sources=tuple(sources))


def letter(place: int) -> str:
    """Name of a column: A to Z, then A1 to Z1 and so on."""
    turn, rest = divmod(place, len(string.ascii_uppercase))
    return string.ascii_uppercase[rest] + (str(turn) if turn else "")


Key = tuple[Any, ...]


def viewer_of(
    found: SideBySide,
    layout: Layout,
    keys: Iterable[Key],
    about: Callable[..., Mapping[str, Any]],
    tag: Callable[[Mapping[str, Any]], Tag | None],
) -> Viewer:
    """Shape rows by their labels; `about` says what each is, and `tag` what a time depends on."""

    def key_of(row: Mapping[str, Any]) -> Key:
        return (row["side"], *(row[name] for name in found.names))

    against: dict[Key, dict[int, Speedup]] = {}
    for row in found.speedups.to_dicts():
        against.setdefault(key_of(row), {})[row["base"]] = Speedup(
            value=row["speedup"],
            low=row["speedup_low"],
            high=row["speedup_high"],
            why_not=row["why_not"],
            of_rates=True if row["basis"] == "rate" else None,
        )
    told = [name for name in found.rows.columns if name in Cell.model_fields]
    places = range(len(found.columns))
    cells = {
        (key := key_of(row)): Cell(
            **{name: row[name] for name in told} | {"invalid": bool(row["invalid"])},
            tag=tag(row),
            speedups=tuple(against.get(key, {}).get(base) for base in places),
        )
        for row in found.rows.to_dicts()
    }
    return Viewer(
        layout=layout,
        names=found.names,
        columns=found.columns,
        properties=tuple(properties(found.sources)),
        rows=tuple(
            Row(
                labels=dict(zip(found.names, key, strict=True)),
                cells=tuple(cells.get((place, *key)) for place in places),
                **about(*key),
            )
            for key in keys
        ),
    )


def properties(sources: Sequence[Source]) -> list[Property]:
    """Hardware of all columns, property by property; a run has said all that a stamp can."""
    found = []
    for what in dict.fromkeys(name for source in sources for name in source.hardware):
        values = tuple(
            source.hardware.get(what)
            or (ABSENT if source.column.kind == "run" and what in HARDWARE else None)
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
    schema: dict[str, Any] = {name: found.rows.schema[name] for name in one}
    schema |= dict.fromkeys(JUDGED, pl.Float64) | dict.fromkeys(("verdict", "reason"), pl.String)
    judged = [
        table.drop_nulls("verdict").select(pl.lit(new, pl.Int64).alias("side"), *list(schema)[1:])
        for (base, new), table in found.pairs.items()
        if base == BASE
    ]
    told = found.rows
    for beside in (speedups, pl.concat([pl.DataFrame(schema=schema), *judged])):
        told = told.join(beside, on=one, how="left", nulls_equal=True, maintain_order="left")
    return told.select(
        of_column("id"),
        of_column("name").alias("name"),
        of_column("kind").alias(layout.source),
        *(*found.names, *layout.told),
        of_column("id", "base"),
        *("speedup", "speedup_low", "speedup_high", "basis", layout.no_speedup, *JUDGED),
    ).with_columns(pl.col(pl.List(pl.String)).list.join(" "))
