"""Section of a report on the machine: tables and sentences of every node, and nodes compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.analysis.flags import flags_of_trials
from pyscale.report import sentences
from pyscale.report.curves import curves
from pyscale.report.grid.scope import about_workers
from pyscale.report.machine import headroom, nodes, tables, told, verdict
from pyscale.report.machine.bench import MOST_BENCHES, Bench, benches
from pyscale.report.machine.bottlenecks import BOTTLENECKS
from pyscale.report.page.table import Table
from pyscale.report.results import Results


def section(results: Results) -> dict[str, Any] | None:
    """Collect what the templates name; None where the machine was not tested."""
    found = benches(results.machine)
    machine = results.machine
    if machine is None or not found:
        return None
    about_n = curves(about_workers(results).configurations)
    used = {row["bottleneck"] for bench in found for row in bench.rows}
    several = len({bench.node for bench in found}) > 1
    of_trials = flags_of_trials(results.configurations, results.alone)
    return {
        "title": f"Tests of {'these machines' if several else 'this machine'}",
        "verdicts": verdict.verdicts(found, of_trials),
        "nodes_in_short": nodes.in_short(machine) if not machine.nodes.is_empty() else None,
        "ran": verdict.ran(found),
        "benches": [_bench(bench) for bench in found],
        "is_folded": len(found) > 1,
        "is_long": len(found) > MOST_BENCHES,
        "several": note_on_workers(found),
        "nodes": nodes.table(machine),
        "apart": list(nodes.sentences(machine)),
        "headroom": headroom.table(machine),
        "room": list(headroom.sentences(machine, about_n)),
        "tags": {
            explained.text: explained.why for code, explained in BOTTLENECKS.items() if code in used
        },
        "doubts": list(doubts(results, found)),
        "not_measured": list(told.not_measured(found)),
    }


def doubts(results: Results, found: Sequence[Bench]) -> Iterator[str]:
    """Give every flag once of each node's tests, and those of the trials that they ran in."""
    yield from told.of_all(found, told.doubts)
    yield from sentences.doubts_of_trials(results.configurations, results.alone)


def note_on_workers(found: Sequence[Bench]) -> str:
    """Note on several processes of one node that measured at once."""
    if all((row["processes"] or 1) == 1 for bench in found for row in bench.rows):
        return ""
    return (
        "Where N processes of a node measured at once, each ran all tests: the numbers are of one "
        "process beside the others."
    )


def _bench(bench: Bench) -> dict[str, Any]:
    of_devices: list[dict[str, Table | None]] = [
        {"tests": tables.kernels(bench, device), "steps": tables.steps(bench, device)}
        for device in bench.kernels
    ]
    return {
        "name": bench.name,
        "place": told.place(bench),
        "tables": [
            found
            for found in (tables.reads(bench), tables.metadata(bench), tables.codecs(bench))
            if found is not None
        ],
        "devices": of_devices,
        "told": told.told(bench),
    }
