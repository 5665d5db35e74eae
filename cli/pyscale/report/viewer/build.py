"""Puts sets of results side by side, from what the analysis found in each."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from pyscale.analysis.causes import Limits
from pyscale.analysis.flags import INVALIDATING, SENTENCES
from pyscale.analysis.sidebyside import (
    CELL,
    WHY_NOT,
    Side,
    comparisons,
    speedups_side_by_side,
    times_side_by_side,
)
from pyscale.report.palette import PARTS
from pyscale.report.viewer.model import Cell, Column, Kind, Property, Row, Speedup, Tag, Viewer
from pyscale.report.viewer.tags import tag
from pyscale.report.wording import ABSENT, INVALID, phase
from pyscale.runfacts import HARDWARE

IDLE = "idle, waiting for the slowest"


@dataclass(frozen=True)
class Source:
    """A set of results that is to be a column.

    Attributes
    ----------
    name : str
    kind : {"run", "reference", "table"}
    side : Side
    limits : list of Limits
        What limits its configurations; empty where nothing is known.
    hardware : mapping of str to str
        Property and value, in the order to print.
    about, href : str or None
        As in `Column`.
    """

    name: str
    kind: Kind
    side: Side
    limits: Sequence[Limits] = ()
    hardware: Mapping[str, str] = field(default_factory=dict)
    about: str | None = None
    href: str | None = None


class Described(Protocol):
    """What is told of the hardware of a column."""

    @property
    def kind(self) -> Kind: ...  # noqa: D102 - see `Source`

    @property
    def hardware(self) -> Mapping[str, str]: ...  # noqa: D102


@dataclass(frozen=True)
class SideBySide:
    """The tables behind a viewer.

    Attributes
    ----------
    sources : tuple of Source
    times, speedups : polars.DataFrame
        See `pyscale.analysis.sidebyside`.
    pairs : mapping of (int, int) to polars.DataFrame
        Comparisons of the sources that did the same work.
    """

    sources: tuple[Source, ...]
    times: pl.DataFrame
    speedups: pl.DataFrame
    pairs: Mapping[tuple[int, int], pl.DataFrame]

    @classmethod
    def of(cls, sources: Sequence[Source]) -> SideBySide:
        """Line up the results of all sources."""
        sides = [source.side for source in sources]
        times, pairs = times_side_by_side(sides), comparisons(sides)
        return cls(tuple(sources), times, speedups_side_by_side(sides, times, pairs), pairs)


def letter(place: int) -> str:
    """Name of a column: A to Z, then A1 to Z1 and so on."""
    turn, rest = divmod(place, len(string.ascii_uppercase))
    return string.ascii_uppercase[rest] + (str(turn) if turn else "")


def viewer(found: SideBySide) -> Viewer:
    """Shape the tables for the page.

    Sums over stages are left out where no column has a second stage, and parts that took no time
    in any column.
    """
    cells = _cells(found)
    names = _names(found.times)
    rows = [
        _row(key, [cells.get((place, *key)) for place in range(len(found.sources))], names)
        for key in _keys(found.times)
    ]
    reasons = {
        speedup.why_not
        for row in rows
        for cell in row.cells
        if cell is not None
        for speedup in cell.speedups
        if speedup is not None
    }
    return Viewer(
        columns=tuple(
            Column(
                id=letter(place),
                name=source.name,
                kind=source.kind,
                about=source.about,
                href=source.href,
            )
            for place, source in enumerate(found.sources)
        ),
        properties=tuple(properties(found.sources)),
        rows=tuple(rows),
        why_not={code: sentence for code, sentence in WHY_NOT.items() if code in reasons},
    )


def properties(sources: Sequence[Described]) -> list[Property]:
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


Key = tuple[str | None, str | None, int, str | None]


def _keys(times: pl.DataFrame) -> list[Key]:
    """What names the rows of the viewer, in order."""
    order = {part: place for place, part in enumerate((None, *PARTS))}
    several = times["stage"].drop_nulls().n_unique() > 1
    held = (
        times.filter(pl.col("stage").is_not_null() | several)
        .group_by(CELL, maintain_order=True)
        .agg(pl.col("wall_s").round(6).ne(0).any(ignore_nulls=True))
    )
    kept = held.filter(pl.col("part").is_null() | pl.col("wall_s")).select(CELL).rows()
    stages = {key[:3]: place for place, key in reversed(list(enumerate(kept)))}
    return sorted(kept, key=lambda key: (stages[key[:3]], order[key[3]]))


def _cells(found: SideBySide) -> dict[tuple[Any, ...], Cell]:
    speedups: dict[tuple[Any, ...], dict[int, Speedup]] = {}
    for row in found.speedups.to_dicts():
        speedups.setdefault((row["side"], *(row[name] for name in CELL)), {})[row["base"]] = (
            Speedup(
                value=row["speedup"],
                low=row["speedup_low"],
                high=row["speedup_high"],
                why_not=row["why_not"],
            )
        )
    rows = found.times.to_dicts()
    parts: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if row["part"] is not None:
            whole = (row["side"], row["stage"], row["device"], row["workers"])
            parts.setdefault(whole, {})[row["part"]] = row["wall_s"]
    limits = {
        (place, own.stage, own.device, own.workers): own
        for place, source in enumerate(found.sources)
        for own in source.limits
    }
    cells = {}
    for row in rows:
        key = (row["side"], *(row[name] for name in CELL))
        against = speedups.get(key, {})
        is_whole = row["part"] is None and row["stage"] is not None
        cells[key] = Cell(
            wall_s=row["wall_s"],
            wall_s_low=row["wall_s_low"],
            wall_s_high=row["wall_s_high"],
            percent=row["percent"],
            repeats=row["repeats"],
            invalid=bool(row["invalid"]),
            tag=_tag(row, limits, parts.get(key[:4], {})) if is_whole else None,
            speedups=tuple(against.get(base) for base in range(len(found.sources))),
        )
    return cells


def _tag(
    row: Mapping[str, Any], found: Mapping[tuple[Any, ...], Limits], parts: Mapping[str, float]
) -> Tag | None:
    if row["invalid"]:
        return Tag(text=INVALID, why=" ".join(SENTENCES[code] for code in INVALIDATING))
    own = found.get((row["side"], row["stage"], row["own_device"], row["workers"]))
    return tag(own, parts, row["workers"], row["device"])


def _names(times: pl.DataFrame) -> dict[tuple[str | None, str | None], str]:
    """What to call each stage: with its device only where it ran on several."""
    stages = times.drop_nulls("stage").select("stage", "device").unique(maintain_order=True).rows()
    namesakes = [stage for stage, _ in stages]
    return {
        (stage, device): f"{stage} ({device})" if namesakes.count(stage) > 1 else stage
        for stage, device in stages
    }


def _row(
    key: Key, cells: Sequence[Cell | None], names: Mapping[tuple[str | None, str | None], str]
) -> Row:
    stage, device, workers, part = key
    curve = names.get((stage, device))
    name = curve or "all stages"
    if part is not None:
        name = IDLE if part == "idle" else phase(part)
    return Row(
        stage=stage,
        device=device,
        workers=workers,
        part=part,
        name=name,
        curve=curve,
        cells=tuple(cells),
    )
