"""Tests of one node at one number of workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.machine.testlabels import MODES, Row, mode_of
from pyscale.wording import grouped

READS = ("particle_sequential", "particle_random", "parallel", "cache", "movie")
"""Beginnings of the names of tests that read, in the report's order."""
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

    @cached_property
    def reads(self) -> list[Row]:
        """Whole tests that read files in a known way, cold ones first."""

        def order(row: Row) -> tuple[int, str, int, int]:
            # Particles before movies, of each the tests that differ in readers and state together.
            name, _, mode = row["test"].rpartition("_")
            kinds = [place for place, kind in enumerate(READS) if name.startswith(kind)]
            return min(kinds, default=len(READS)), name, list(MODES).index(mode), row["at_once"]

        rows = [row for row in self.of("storage") if row["step"] is None and mode_of(row["test"])]
        return sorted(rows, key=order)

    @cached_property
    def writes(self) -> list[Row]:
        """Writing and copying of the particle stack, with their steps."""
        names = ("particle_write", "particle_cache_copy")
        return [row for row in self.of("storage") if row["test"] in names]

    def storage(self, test: str, at_once: int = 1) -> Row | None:
        """Return a whole test of the storage that has a time; None where there is none."""
        wanted = (test, None, at_once)
        for row in self.of("storage"):
            if (row["test"], row["step"], row["at_once"]) == wanted and row["rate"] is not None:
                return row
        return None

    @cached_property
    def codecs(self) -> list[str]:
        """Codecs, in the order of the table."""
        return list(dict.fromkeys(row["test"] for row in self.of("decompress")))

    def codec(self, name: str, step: str) -> list[Row]:
        """Rows of a step of one codec, by rising number of threads."""
        rows = [row for row in self.of("decompress") if (row["test"], row["step"]) == (name, step)]
        return sorted(rows, key=lambda row: row["at_once"])

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
