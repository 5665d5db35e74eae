"""The viewer of tests of machines: a line for every test and step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine.beside import CELL, PROCESSOR, WHY_NOT
from pyscale.report.machine.bench import BOTTLENECKS
from pyscale.report.viewer.build import Layout, SideBySide, Tag, Viewer, viewer_of
from pyscale.wording import grouped

AT_ONCE = {"storage": "reader", "decompress": "thread"}
"""What `at_once` counts, where it is no thread of a kernel."""
TOLD_OTHERWISE = {"few-repeats", "steps-overlap"}
"""Doubts that numbers of trials and rows show by themselves."""
LAYOUT = Layout(
    id="machines",
    file="comparison_tests",
    told=(
        *("device_name", "repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high", "percent"),
        *("amount", "unit", "rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not"),
        "flags",
    ),
    source="source",
    no_speedup="no_speedup",
    why_not=WHY_NOT,
)


def machine_viewer(found: SideBySide) -> Viewer:
    """Shape the tables for the page."""
    keys = found.rows.select(CELL).unique(maintain_order=True).rows()
    counts = grouped(((key[0], key[4]), key[5]) for key in keys)

    def about(*key: Any) -> dict[str, Any]:
        kind, entry, processes, device, test, at_once, step = key
        part = step is not None and (*key[:-1], None) in keys
        several = len({*counts[kind, test]}) > 1
        name = name_of(kind, test, at_once, step, tell_at_once=several)
        return {
            "group": group_of(kind, device, processes, entry),
            "name": step if part else name,
            "part": part,
        }

    return viewer_of(found, LAYOUT, keys, about, _tag)


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
