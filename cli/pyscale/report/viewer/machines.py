"""The viewer of tests of machines: a line for every test and step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine.comparison import OF_RATES, WHY_NOT
from pyscale.analysis.machine.sidebyside import CELL, PROCESSOR
from pyscale.report.machine.testlabels import BOTTLENECKS
from pyscale.report.viewer.build import SideBySide, viewer_of
from pyscale.report.viewer.model import Layout, Note, Row, Tag, Viewer
from pyscale.report.viewer.stages import LAYOUT as OF_STAGES

AT_ONCE = {"storage": "reader", "decompress": "thread"}
"""What `at_once` counts, where it is no thread of a kernel."""
TOLD_OTHERWISE = {"few-repeats", "steps-overlap"}
"""Doubts that numbers of trials and rows show by themselves."""
LAYOUT = Layout(
    id="machines",
    file="comparison_tests",
    names=CELL,
    told=(
        *("device_name", "repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high", "percent"),
        *("amount", "unit", "rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not"),
        "flags",
    ),
    row="Test",
    wholes="tests",
    title="Tests side by side",
    of_speedups=f"{OF_STAGES.of_speedups} Where the two did not do the same amount it is a ratio "
    "of rates, and says so.",
    of_percents="The percentage of a test is of all tests of its kind and device in the column, "
    "that of a step of its test. First calls are not counted.",
    hardware="Machines",
    notes="What the likely limits mean",
    invalid="wrong result",
)


def machine_viewer(found: SideBySide) -> Viewer:
    """Shape the tables for the page."""
    table = found.rows.to_dicts()
    counts: dict[tuple[str, str], set[int]] = {}
    for row in table:
        counts.setdefault((row["kind"], row["test"]), set()).add(row["at_once"])
    cells = found.cells(_tag)
    keys = list(dict.fromkeys(tuple(row[name] for name in CELL) for row in table))
    rows = []
    for key in keys:
        kind, entry, processes, device, test, at_once, step = key
        part = step is not None and (*key[:-1], None) in keys
        several = len(counts[kind, test]) > 1
        rows.append(
            Row(
                labels=dict(zip(CELL, key, strict=True)),
                group=group_of(kind, device, processes, entry),
                name=step if part else name_of(kind, test, at_once, step, tell_at_once=several),
                part=part,
                cells=tuple(cells.get((place, *key)) for place in range(len(found.columns))),
            )
        )
    occur = set(found.rows["bottleneck"])
    notes = [
        Note(what=told.text, why=told.why) for code, told in BOTTLENECKS.items() if code in occur
    ]
    return viewer_of(found, LAYOUT, rows, notes, why_not=WHY_NOT, of_rates=OF_RATES)


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


def _tag(row: Mapping[str, Any]) -> Tag | None:
    """What the speed of a test depends on most, and the doubts about its time."""
    doubts = [SENTENCES[code] for code in row["flags"] if code not in TOLD_OTHERWISE]
    explained = BOTTLENECKS.get(row["bottleneck"])
    if explained is None:
        return Tag(text="doubtful", why=" ".join(doubts)) if doubts else None
    return Tag(text=explained.text, why=" ".join([explained.why, *doubts]))
