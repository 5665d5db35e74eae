"""Sets of results side by side, a column each, against a chosen base: on a page and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pyscale.analysis.causes import Limits
from pyscale.analysis.comparison import CELL, WHY_NOT
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine import beside as machine
from pyscale.planning.runfacts import HARDWARE
from pyscale.report import sentences
from pyscale.report.comparison import group_of, name_of
from pyscale.report.dictionary import labels
from pyscale.report.machine.bench import BOTTLENECKS, not_applicable, rate_parts
from pyscale.report.palette import PARTS
from pyscale.report.viewer.sources import SideBySide, Source
from pyscale.wording import ABSENT, INVALID, grouped, number, percent, phase

Key = tuple[Any, ...]
Row = dict[str, Any]
BASE = 0
"""Place of the column that the file's speedups are over."""
JUDGED = ("verdict", "reason", "ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond")
SPEEDUP = ("speedup", "speedup_low", "speedup_high", "basis", "why_not")
IDLE = "idle, waiting for the slowest"
WHY_INVALID = (
    "Its output is not the baseline's, or its workers never all ran at once: the report of its run "
    "says which."
)
TOLD_OTHERWISE = {"few-repeats", "steps-overlap"}
"""Doubts that numbers of trials and rows show by themselves."""


@dataclass(frozen=True)
class Layout:
    """What one kind of viewer holds; what it calls it is in its template."""

    id: str
    file: str
    """Name of the table as a file, without its ending."""
    told: tuple[str, ...]
    """What the file has of each time, in order."""
    source: str
    """Column of the file that says what a column holds."""
    no_speedup: str
    """Column of the file that says why there is no speedup."""
    why_not: Mapping[str, str]
    """Sentences for the reasons against a speedup."""


STAGES = Layout(
    id="viewer",
    file="comparison",
    told=("repeats", "work", "invalid", "wall_s", "wall_s_low", "wall_s_high", "percent"),
    source="kind",
    no_speedup="why_not",
    why_not=WHY_NOT,
)
MACHINES = Layout(
    id="machines",
    file="comparison_tests",
    told=(
        *("device_name", "repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high", "percent"),
        *("amount", "unit", "rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not"),
        "flags",
    ),
    source="source",
    no_speedup="no_speedup",
    why_not=machine.WHY_NOT,
)


@dataclass(frozen=True)
class Viewer:
    """Everything that stands side by side."""

    layout: Layout
    found: SideBySide
    rows: Sequence[Row]
    """By group, each before its parts: `name`, `group`, whether it `heads` its group or is a `part`
    of the time above it, the `curve` whose stage it is, and `cells`. A cell is the time of one
    column, None where there is none: a row of the tables with its `key` in the CSV, `tag` (the
    likely bottleneck), `why` (what says so), and `speedups` against each column."""

    @property
    def speedups(self) -> list[Row]:
        """Those of all times that are shown."""
        cells = [cell for row in self.rows for cell in row["cells"] if cell is not None]
        timed = (cell for cell in cells if cell["wall_s"] is not None)
        return [one for cell in timed for one in cell["speedups"] if one]

    @property
    def why_not(self) -> dict[str, str]:
        """Sentences for the reasons that occur."""
        reasons = {one["why_not"] for one in self.speedups}
        return {code: told for code, told in self.layout.why_not.items() if code in reasons}

    @property
    def of_rates(self) -> str | None:
        """What a ratio of rates is, where there is one."""
        return machine.OF_RATES if any(one["basis"] == "rate" for one in self.speedups) else None

    @property
    def properties(self) -> list[Row]:
        """Hardware of all columns, property by property."""
        return properties(self.found.sources)

    @property
    def groups(self) -> dict[str, list[tuple[int, Row]]]:
        """Rows of every group, each with its place among all."""
        return grouped((row["group"], (place, row)) for place, row in enumerate(self.rows))

    @property
    def data(self) -> dict[str, Any]:
        """What viewer.js reads."""
        layout, names = self.layout, self.found.names
        read = ("key", *names, *layout.told, "tag")
        rows = [
            {
                "part": row["part"],
                "cells": [
                    cell and _known(cell, read) | {"speedups": cell["speedups"]}
                    for cell in row["cells"]
                ],
            }
            for row in self.rows
        ]
        return {
            "columns": [one.model_dump(exclude_none=True) for one in self.found.columns],
            "rows": rows,
            "names": names,
            "written": layout.told,
            "source": layout.source,
            "no_speedup": layout.no_speedup,
            "file": layout.file,
            "why_not": self.why_not,
            "of_rates": self.of_rates,
        }


def _known(row: Row, names: Iterable[str]) -> Row:
    return {name: row[name] for name in names if row[name] is not None}


def _viewer(
    found: SideBySide,
    layout: Layout,
    keys: Iterable[Key],
    about: Callable[..., Row],
    told: Callable[[Row], Row],
) -> Viewer:
    """Shape rows by their labels: `about` says what each is, and `told` what is said of a time."""
    places = range(len(found.columns))
    against: dict[Key, dict[int, Row]] = {}
    for row in found.speedups.to_dicts():
        key = (row["side"], *(row[name] for name in found.names))
        against.setdefault(key, {})[row["base"]] = _known(row, SPEEDUP) | {
            name: row[name] for name in ("why_not", "basis")
        }
    cells = {}
    for row in found.rows.to_dicts():
        key = (row["side"], *(row[name] for name in found.names))
        named = (found.columns[row["side"]].id, *key[1:])
        cells[key] = row | {
            "key": "|".join("" if value is None else str(value) for value in named),
            "speedups": [against.get(key, {}).get(base) for base in places],
            "rate_told": None,
            "cannot": None,
            **told(row),
        }
    rows = [
        {"heads": False, "curve": None, **about(*key)}
        | {"cells": [cells.get((place, *key)) for place in places]}
        for key in keys
    ]
    return Viewer(layout, found, rows)


def stage_viewer(found: SideBySide) -> Viewer:
    """Shape wall times for the page: a line for every stage, N and part of the time.

    Sums over stages are left out where no column has a second stage, and parts that took no time
    in any column.
    """
    stages = found.rows.drop_nulls("stage").select("stage", "device").unique(maintain_order=True)
    several = set(stages.filter(pl.col("stage").is_duplicated())["stage"])
    parts: dict[Key, dict[str, float]] = {}
    for row in found.rows.drop_nulls("part").to_dicts():
        whole = (row["side"], row["stage"], row["device"], row["workers"])
        parts.setdefault(whole, {})[row["part"]] = row["wall_s"]
    known = {
        (place, own.stage, own.device, own.workers): own
        for place, source in enumerate(found.sources)
        for own in source.limits
    }

    def about(stage: str | None, device: str | None, workers: int, part: str | None) -> Row:
        curve = f"{stage} ({device})" if stage in several else stage
        return {
            "group": f"N = {workers}",
            "name": IDLE if part == "idle" else phase(part) if part else curve or "all stages",
            "heads": stage is None,
            "part": part is not None,
            "curve": curve,
        }

    def told(row: Row) -> Row:
        side, stage, workers = row["side"], row["stage"], row["workers"]
        if row["part"] is not None or stage is None:
            return _tagged(None)
        if row["invalid"]:
            return _tagged((INVALID, WHY_INVALID))
        own = known.get((side, stage, row["own_device"], workers))
        return _tagged(tag(own, parts.get((side, stage, row["device"], workers), {}), workers))

    return _viewer(found, STAGES, _stage_keys(found.rows), about, told)


def _tagged(tag: tuple[str, str] | None) -> Row:
    return dict(zip(("tag", "why"), tag or (None, None), strict=True))


def _stage_keys(times: pl.DataFrame) -> list[Key]:
    order = {part: place for place, part in enumerate((None, *PARTS))}
    several = times["stage"].drop_nulls().n_unique() > 1
    held = (
        times.filter(pl.col("stage").is_not_null() | several)
        .group_by(CELL, maintain_order=True)
        # What lies below the clocks' microsecond took no time.
        .agg(pl.col("wall_s").round(6).ne(0).any(ignore_nulls=True))
    )
    kept = held.filter(pl.col("part").is_null() | pl.col("wall_s")).select(CELL).rows()
    # Backwards, so that the first place of each stage stays.
    stages = {key[:3]: place for place, key in reversed(list(enumerate(kept)))}
    return sorted(kept, key=lambda key: (stages[key[:3]], order[key[3]]))


def tag(found: Limits | None, parts: Mapping[str, float], workers: int) -> tuple[str, str] | None:
    """Name the main cause of lost efficiency, else the largest part of the time, and say why."""
    said = [] if found is None else list(sentences.limits([found]))
    if found is not None and found.main is not None:
        rivals = (found.main, sentences.rival(found) or found.main)
        name, rival = (labels("causes")[cause.code] for cause in rivals)
        sure = {
            "sure": name,
            "likely": f"probably {name}",
            "undecided": f"{name} or {rival}",
            "unknown": f"{name}?",
        }
        return sure[found.sureness or "unknown"], " ".join(said)
    # Whole tasks, without what they consist of, say nothing.
    known = {part: seconds for part, seconds in parts.items() if part != "busy"}
    if not any(known.values()):
        return None
    largest = max(known, key=known.__getitem__)
    share = percent(known[largest] / sum(parts.values()))
    whole = f"The largest part of the time at N = {workers} is {phase(largest)} ({share})."
    return phase(largest), " ".join([*said, whole])


def machine_viewer(found: SideBySide) -> Viewer:
    """Shape tests of machines for the page: a line for every test and step."""
    keys = found.rows.select(machine.CELL).unique(maintain_order=True).rows()
    counts = grouped(((key[0], key[4]), key[5]) for key in keys)

    def about(*key: Any) -> Row:
        kind, entry, processes, device, test, at_once, step = key
        part = step is not None and (*key[:-1], None) in keys
        several = len({*counts[kind, test]}) > 1
        name = name_of(kind, test, at_once, step, tell_at_once=several)
        return {
            "group": group_of(kind, device, processes, entry),
            "name": step if part else name,
            "part": part,
        }

    return _viewer(found, MACHINES, keys, about, _of_test)


def _of_test(row: Row) -> Row:
    """Tell the rate of a test, what its speed depends on most, and the doubts about its time."""
    doubts = [SENTENCES[code] for code in row["flags"] if code not in TOLD_OTHERWISE]
    explained, tag = BOTTLENECKS.get(row["bottleneck"]), None
    if explained is not None:
        tag = (explained.text, " ".join([explained.why, *doubts]))
    elif doubts:
        tag = ("doubtful", " ".join(doubts))
    scale, unit = rate_parts(row["rate"], row["unit"])
    return _tagged(tag) | {
        "rate_told": None if row["rate"] is None else number(row["rate"] / scale),
        "rate_unit": unit,
        "cannot": None if row["why_not"] is None else not_applicable(row["why_not"]),
    }


def properties(sources: Sequence[Source]) -> list[Row]:
    """Hardware of all columns, property by property: what each tells, and whether that differs."""
    found = []
    for what in dict.fromkeys(name for source in sources for name in source.hardware):
        values = tuple(
            source.hardware.get(what)
            # A run has said all that a stamp can; what others do not tell is unknown.
            or (ABSENT if source.column.kind == "run" and what in HARDWARE else None)
            for source in sources
        )
        told = {value for value in values if value is not None}
        found.append({"what": what, "values": values, "differs": len(told) > 1})
    return found


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
