"""All sentences on a sweep, under headings, in the order in which a reader asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from pyscale.report.grid import beside, ratios, times
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import DEVICE, named
from pyscale.report.wording import listing


def compared(sweep: Sweep) -> Iterator[str]:
    """State every ratio; or why there is none."""
    if sweep.compared:
        yield from ratios.compared(sweep)
    elif sweep.is_timed and (lacking := not_compared(sweep)):
        yield lacking


HEADINGS: tuple[tuple[str, Callable[[Sweep], Iterator[str]]], ...] = (
    ("Time of a call", times.calls),
    ("Times as fast", compared),
    ("Parts that are not sped up", ratios.bound),
    ("Largest parts of a call", ratios.shares),
    ("A single image in a fresh process", times.fresh),
    ("Agreement of outputs", beside.agreement),
    ("Several workers", times.sharing),
    ("Device memory", beside.device_memory),
    ("Energy", beside.energy),
    ("Published protocol", times.published),
)


def told(sweep: Sweep) -> list[tuple[str, list[str]]]:
    """Sentences by heading; a heading of which nothing is known is left out."""
    found = [(heading, list(said(sweep))) for heading, said in HEADINGS]
    return [(heading, sentences) for heading, sentences in found if sentences]


def not_compared(sweep: Sweep) -> str | None:
    """State why there is no ratio, and how to get one; None where nothing is to be compared."""
    versus = sweep.grid.versus
    if versus is None or sweep.compared:
        return None
    values = list(dict.fromkeys(named(line.value) for line in sweep.lines if line.value))
    only = listing(values)
    if len(values) > 1:
        return f"No ratio of {only}: no size has timed calls of both."
    if versus != DEVICE:
        return f"Only {only} was measured: a ratio needs another value of {versus}."
    return f"Only the {only} was measured. To compare with a GPU, use {command(sweep)}."


def command(sweep: Sweep) -> str:
    """Write the line that measures the same sizes on a GPU too."""
    if sweep.is_table:
        # A table does not name its command.
        return "a table with the times of both devices of a machine"
    lengths = [json.loads(row["point"]).get("length_px") for row in sweep.points]
    sizes = ",".join(dict.fromkeys(str(one) for one in lengths if one is not None))
    these = f" --sizes {sizes}" if sizes else ""
    return (
        f"`pyscale run {sweep.points[0]['suite']}{these} --device cpu,cuda` "
        "(on a Mac `--device cpu,mps`)"
    )
