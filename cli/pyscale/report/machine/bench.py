"""Tests of one node, and names of tests, of their bottlenecks and of rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.dictionary import labels
from pyscale.wording import ABSENT, grouped, number

Row = dict[str, Any]


class Explained(NamedTuple):
    """A tag and its explanation."""

    text: str
    why: str


MODES = {"cold": "cold", "warm": "warm", "direct": "past the page cache"}
"""How a test reads files, by the end of its name."""
CODECS = labels("codecs")
"""Of the stage `decompress`, by the name of the test."""
UNCODED = {"mrc", "tiff_none"}
"""Those that hold pixels as they are: the control."""
BOTTLENECKS = {code: Explained(**own) for code, own in labels("bottlenecks").items()}
"""Likely bottlenecks that stages declare (`timing.Bottleneck`)."""
NOT_APPLICABLE = "not applicable"
MEGA, GIGA = 1e6, 1e9
_SCALES = {
    "B": ((GIGA, "GB/s"), (MEGA, "MB/s"), (1e3, "kB/s")),
    "flop": ((1e12, "TFLOP/s"), (GIGA, "GFLOP/s"), (MEGA, "MFLOP/s")),
}
_PLURALS = {"launch": "launches"}


def rate_parts(rate: float | None, unit: str | None) -> tuple[float, str]:
    """Return the divisor of a rate, and its unit after that: the largest it fills."""
    scales = _SCALES.get(unit or "")
    if scales is None:
        name = _PLURALS.get(unit or "", f"{unit}s")
        return 1.0, f"{name}/s"
    return next((one for one in scales if (rate or 0.0) >= one[0]), scales[-1])


def rate(row: Row) -> str:
    """Write the rate of a row with its unit, and its interval where there is one."""
    if row["rate"] is None:
        return ""
    scale, unit = rate_parts(row["rate"], row["unit"])
    low, high = (row[f"rate_{end}"] for end in ("low", "high"))
    ends = "" if low is None else f" [{number(low / scale)}, {number(high / scale)}]"
    return f"{number(row['rate'] / scale)} {unit}{ends}"


def mode_of(test: str) -> str | None:
    """Mode in which a test of the storage reads: cold, warm or direct; None without one."""
    mode = test.rpartition("_")[2]
    return mode if mode in MODES else None


def what_was_read(test: str) -> str:
    """Name the files that a test of the storage reads or writes, and in which order."""
    name = test if mode_of(test) is None else test.rpartition("_")[0]
    return str(labels("reads").get(name, name.replace("_", " ")))


def doubts(row: Row) -> list[str]:
    """Reason for a missing time, or the flags of a row."""
    if row["why_not"]:
        return [row["why_not"]]
    return list(row["flags"] or [])


def not_applicable(reason: str) -> str:
    """Say that a test does not apply, and why."""
    return reason if reason.startswith(NOT_APPLICABLE) else f"{NOT_APPLICABLE}: {reason}"


def cannot(reason: str) -> str:
    """Cell for a missing number, whose reason stands beside it."""
    return NOT_APPLICABLE if reason.startswith(NOT_APPLICABLE) else "cannot run"


def name_of(row: Row) -> str:
    """Name a row by its test, and by its step, number at once and GPU where it has such."""
    step = "" if row["step"] is None else f"/{row['step']}"
    many = "" if row["at_once"] == 1 else f" ({row['at_once']} at once)"
    on = "" if row["device"] is None else f" on {row['device']}"
    return f"{row['test']}{step}{many}{on}"


def label(row: Row) -> str:
    """Name a test of several nodes, with N where it is not the number of nodes."""
    many = "" if row["workers"] in {1, row["nodes"]} else f", N = {row['workers']}"
    return f"{name_of(row)}{many}"


def tag(row: Row) -> str:
    """Name the likely bottleneck of a row."""
    explained = BOTTLENECKS.get(row["bottleneck"])
    return ABSENT if explained is None else explained.text


PROCESSOR = "CPU"
MOST_BENCHES = 4
"""More nodes and numbers of workers are compared, not each drawn by itself."""


@dataclass(frozen=True)
class Bench:
    """Tests of one node, each of N workers by itself."""

    node: str
    workers: int
    name: str
    """By what differs between all benches; empty where there is one."""
    rows: list[Row]
    """Of the table of tests."""
    place: Mapping[str, str] = field(default_factory=dict)
    """Properties of the measured folder."""

    def of(self, kind: str) -> list[Row]:
        """Rows of a stage."""
        return [row for row in self.rows if row["kind"] == kind]

    def storage(self, test: str) -> Row | None:
        """Return a whole test of the storage by one reader that has a rate; None without one."""
        wanted = (test, None, 1)
        return next(
            (
                row
                for row in self.of("storage")
                if (row["test"], row["step"], row["at_once"]) == wanted and row["rate"] is not None
            ),
            None,
        )

    @cached_property
    def kernels(self) -> dict[str, list[Row]]:
        """Whole tests of the kernels by the device that computed."""
        wholes = (row for row in self.of("kernels") if row["step"] is None)
        return grouped((row["device"] or PROCESSOR, row) for row in wholes)


def benches(machine: MachineFindings | None) -> list[Bench]:
    """Split the tests by node and number of workers, in the order of the table."""
    if machine is None:
        return []
    rows = machine.tests.to_dicts()
    found = grouped(((row["node"], row["workers"]), row) for row in rows)
    several_nodes = len({node for node, _ in found}) > 1
    several_counts = len({workers for _, workers in found}) > 1
    named = []
    for (node, workers), rows in found.items():
        parts = [node] * several_nodes + [f"N = {workers}"] * several_counts
        named.append(Bench(node, workers, ", ".join(parts), rows, machine.places.get(node, {})))
    return named


def timed(rows: Iterable[Row]) -> list[Row]:
    """Rows that have a time."""
    return [row for row in rows if row["wall_s"] is not None]
