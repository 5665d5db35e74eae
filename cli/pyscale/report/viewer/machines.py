"""Puts tests of machines side by side: runs, their nodes, and what others measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine.comparison import all_compared
from pyscale.analysis.machine.sidebyside import CELL, PROCESSOR, MachineSide, machines_side_by_side
from pyscale.analysis.machine.speedups import OF_RATES, WHY_NOT, machine_speedups
from pyscale.report.machine.bottlenecks import BOTTLENECKS
from pyscale.report.viewer.build import properties
from pyscale.report.viewer.machinemodel import MachineCell, MachineRow, MachineViewer
from pyscale.report.viewer.model import Column, Kind, Speedup, Tag

AT_ONCE = {"storage": "reader", "decompress": "thread"}
"""What `at_once` counts, where it is no thread of a kernel."""
TOLD_OTHERWISE = {"few-repeats", "steps-overlap"}
"""Doubts that numbers of trials and rows show by themselves."""


@dataclass(frozen=True)
class MachineSource:
    """The tests of one machine that are to be a column.

    Attributes
    ----------
    id : str
        A letter, and a number where a run has several nodes.
    name : str
    kind : {"run", "reference"}
    side : MachineSide
    hardware : mapping of str to str
        Property and value, in the order to print.
    about, href : str or None
        As in `Column`.
    """

    id: str
    name: str
    kind: Kind
    side: MachineSide
    hardware: Mapping[str, str] = field(default_factory=dict)
    about: str | None = None
    href: str | None = None


@dataclass(frozen=True)
class MachinesBeside:
    """The tables behind a viewer of tests.

    Attributes
    ----------
    sources : tuple of MachineSource
    tests, speedups : polars.DataFrame
        See `pyscale.analysis.machine.sidebyside`.
    pairs : mapping of (int, int) to polars.DataFrame
        See `pyscale.analysis.machine.comparison`.
    """

    sources: tuple[MachineSource, ...]
    tests: pl.DataFrame
    speedups: pl.DataFrame
    pairs: Mapping[tuple[int, int], pl.DataFrame]

    @classmethod
    def of(cls, sources: Sequence[MachineSource]) -> MachinesBeside:
        """Line up the tests of all sources."""
        sides = [source.side for source in sources]
        tests = machines_side_by_side(sides)
        pairs = all_compared(sides, tests)
        return cls(tuple(sources), tests, machine_speedups(tests, pairs), pairs)


def machine_viewer(found: MachinesBeside) -> MachineViewer:
    """Shape the tables for the page."""
    table = found.tests.to_dicts()
    several = _with_several_at_once(table)
    cells = _cells(found, table)
    keys = list(dict.fromkeys(map(_key, table)))
    tests = {key[:-1] for key in keys if key[-1] is None}
    rows = [
        _row(
            key,
            [cells.get((place, *key)) for place in range(len(found.sources))],
            part=key[-1] is not None and key[:-1] in tests,
            tell_at_once=(key[0], key[4]) in several,
        )
        for key in keys
    ]
    shown = [
        speedup
        for row in rows
        for cell in row.cells
        if cell is not None and cell.wall_s is not None
        for speedup in cell.speedups
        if speedup is not None
    ]
    reasons = {speedup.why_not for speedup in shown}
    return MachineViewer(
        columns=tuple(
            Column(
                id=source.id,
                name=source.name,
                kind=source.kind,
                about=source.about,
                href=source.href,
            )
            for source in found.sources
        ),
        properties=tuple(properties(found.sources)),
        rows=tuple(rows),
        tags={
            BOTTLENECKS[code].text: BOTTLENECKS[code].why
            for code in BOTTLENECKS
            if code in set(found.tests["bottleneck"])
        },
        why_not={code: sentence for code, sentence in WHY_NOT.items() if code in reasons},
        of_rates=OF_RATES if any(speedup.of_rates for speedup in shown) else None,
    )


def name_of(kind: str, test: str, at_once: int, step: str | None, *, tell_at_once: bool) -> str:
    """Call a test by its name, with its step, and with how many did it where that varies."""
    name = test if step is None else f"{test}: {step}"
    if not tell_at_once:
        return name
    what = AT_ONCE.get(kind, "thread")
    return f"{name}, {at_once} {what}{'' if at_once == 1 else 's'}"


def group_of(kind: str, device: str, processes: int, entry: str | None) -> str:
    """Name the tests of one kind, device and number of processes."""
    on = "" if device == PROCESSOR and kind != "kernels" else f" on {_the(device)}"
    together = "" if processes == 1 else f", {processes} processes at once"
    named = "" if entry in {None, kind} else f" ({entry})"
    return f"{kind}{named}{on}{together}"


def _the(device: str) -> str:
    return f"the {device}" if device in {PROCESSOR, "GPU"} else device


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in CELL)


def _with_several_at_once(table: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Tests that different numbers of readers or threads did."""
    counts: dict[tuple[str, str], set[int]] = {}
    for row in table:
        counts.setdefault((row["kind"], row["test"]), set()).add(row["at_once"])
    return {test for test, found in counts.items() if len(found) > 1}


def _cells(
    found: MachinesBeside, table: Sequence[Mapping[str, Any]]
) -> dict[tuple[Any, ...], MachineCell]:
    speedups: dict[tuple[Any, ...], dict[int, Speedup]] = {}
    for row in found.speedups.to_dicts():
        speedups.setdefault((row["side"], *_key(row)), {})[row["base"]] = Speedup(
            value=row["speedup"],
            low=row["speedup_low"],
            high=row["speedup_high"],
            why_not=row["why_not"],
            of_rates=True if row["basis"] == "rate" else None,
        )
    return {
        (row["side"], *_key(row)): MachineCell(
            **{name: row[name] for name in ("wall_s", "wall_s_low", "wall_s_high", "repeats")},
            **{name: row[name] for name in ("amount", "unit", "rate", "cache")},
            percent=None if row["percent"] is None else 100 * row["percent"],
            device=row["own_device"],
            why_not=row["why_not"] or None,
            wrong="disagrees" in row["flags"],
            tag=_tag(row),
            speedups=tuple(
                speedups.get((row["side"], *_key(row)), {}).get(base)
                for base in range(len(found.sources))
            ),
        )
        for row in table
    }


def _tag(row: Mapping[str, Any]) -> Tag | None:
    """What the speed of a test depends on most, and the doubts about its time."""
    doubts = [SENTENCES[code] for code in row["flags"] if code not in TOLD_OTHERWISE]
    explained = BOTTLENECKS.get(row["bottleneck"])
    if explained is None:
        return None
    return Tag(text=explained.text, why=" ".join([explained.why, *doubts]))


def _row(
    key: tuple[Any, ...], cells: Sequence[MachineCell | None], *, part: bool, tell_at_once: bool
) -> MachineRow:
    kind, entry, processes, device, test, at_once, step = key
    name = str(step) if part else name_of(kind, test, at_once, step, tell_at_once=tell_at_once)
    return MachineRow(
        kind=kind,
        entry=entry,
        processes=processes,
        device=device,
        test=test,
        at_once=at_once,
        step=step,
        group=group_of(kind, device, processes, entry),
        name=name,
        part=part,
        cells=tuple(cells),
    )
