"""The machine: what its storage, processors and GPUs reach, and nodes compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.machine.findings import FAST, LEAST_NODES, SLOW, MachineFindings
from pyscale.analysis.trust import Basis, Trusted, judged
from pyscale.report import sentences
from pyscale.report.answered import answers
from pyscale.report.dictionary import in_units, labels
from pyscale.report.machine import tables
from pyscale.report.machine.bench import (
    BOTTLENECKS,
    MODES,
    MOST_BENCHES,
    PROCESSOR,
    UNCODED,
    Bench,
    Row,
    benches,
    label,
    name_of,
    rate_parts,
    timed,
)
from pyscale.report.page.values import TESTS
from pyscale.report.results import Results
from pyscale.report.section import Answered, Block, Section, doubts_of, there
from pyscale.wording import grouped, listing
from pyscale_stages.wording import plural

HERE = "This machine"
SEQUENTIAL, RANDOM = "particle_sequential_read", "particle_random_read"
"""Reads that answer the question of storage."""
FOLDERS = {"place": "", "cache": "Cache folder: "}
AT_ONCE = (
    "Where N processes of a node measured at once, each ran all tests: the numbers are of one "
    "process beside the others."
)
LEFT_OUT = {
    *("Doubts", "Trials", "Median (ms)", "p95 (ms)", "First call (s)", "Error", "Allowed", "Share"),
    *("Nodes", "Outliers"),
}
"""Columns that a terminal has no room for."""


def section(results: Results) -> Section | None:
    """Tell of the tests of all nodes; None where the machine was not tested."""
    machine = results.of(MachineFindings)
    found = benches(machine)
    if machine is None or not found:
        return None
    several, is_long = len({bench.node for bench in found}) > 1, len(found) > MOST_BENCHES
    title = f"Tests of {'these machines' if several else 'this machine'}"
    used = {row["bottleneck"] for bench in found for row in bench.rows}
    compared = tables.nodes(machine)
    shown = [] if several or is_long else [one for bench in found for one in tables.of(bench)]
    at_once = any((row["processes"] or 1) > 1 for bench in found for row in bench.rows)
    return Section(
        kind="machine",
        nav=title,
        title=title,
        heading=title,
        subject="what the machine can do",
        ran=_ran(found),
        answered=tuple(_answered(results, machine, found)),
        blocks=(
            Block(
                tables=there(compared),
                note="`benchmark_tests.csv` has the rates of each node." if several else "",
            ),
            *(
                Block(
                    heading=bench.name,
                    facts=place(bench),
                    tables=tables.of(bench),
                    is_folded=len(found) > 1,
                    is_on_page_alone=is_long,
                )
                for bench in found
            ),
            Block(
                folded=tuple(one for bench in found for one in tables.steps(bench)),
                is_on_page_alone=True,
            ),
            Block(
                heading="Meaning of the likely bottlenecks",
                facts={one.text: one.why for code, one in BOTTLENECKS.items() if code in used},
                is_folded=True,
            ),
        ),
        short=tuple(one.in_short(LEFT_OUT) for one in (*shown, *there(compared))),
        note=AT_ONCE if at_once else "",
        figures=("machinenodes",),
        scales=("log", "linear"),
        leads=False,
        doubts=(
            *doubts_of(
                [
                    row | {"bench": bench.name}
                    for bench in found
                    for row in bench.rows
                    if row["wall_s"] is not None or row["flags"]
                ],
                _tests,
            ),
            *sentences.doubts_of_trials(results.configurations, machine.entries),
        ),
    )


def _ran(found: Sequence[Bench]) -> str:
    nodes = {bench.node for bench in found}
    counts = sorted({bench.workers for bench in found})
    kinds = list(dict.fromkeys(row["kind"] for bench in found for row in bench.rows))
    over = f" on {len(nodes)} nodes" if len(nodes) > 1 else ""
    many = "" if counts == [1] else f", N = {listing(counts)} processes at once"
    repeats = [row["repeats"] for bench in found for row in bench.rows if row["repeats"]]
    ends = sorted({min(repeats), max(repeats)}) if repeats else []
    told = f"{' to '.join(map(str, ends))} trial{'s' * (ends != [1])}"
    each = f", each test in {told}" if ends else ""
    return f"tests of the machine{over} ({listing(kinds)}{many}){each}"


def _answered(
    results: Results, machine: MachineFindings, found: Sequence[Bench]
) -> Iterator[Answered]:
    """Name the outliers; give the rates of each node, and the trust in them."""
    if nodes := machine.nodes.to_dicts():
        apart = [row for row in nodes if row["outlier"]]
        outliers = list(dict.fromkeys(row["node"] for row in apart))
        worst = min(apart, key=_how_near, default=None)
        yield Answered("All nodes", _told(nodes=nodes, apart=outliers, worst=worst))
    of_trials = flags_of_trials(results.configurations, machine.entries)
    for bench in found if len(found) <= MOST_BENCHES else ():
        trusted = trust_in_tests(bench.rows, of_trials)
        yield Answered.of(bench.name or HERE, _told(**_known(bench)), trusted)


def _told(**known: Any) -> Any:
    none: Row = {"nodes": (), "in_order": (), "decoded": (), "devices": ()}
    return answers(
        "machine",
        **none | known,
        slow=f"{SLOW:g}",
        fast=f"{FAST:g}",
        least=LEAST_NODES,
        label=label,
    )


def _known(bench: Bench) -> Row:
    last = [
        rows[-1]
        for name in bench.codecs
        if name not in UNCODED and (rows := timed(bench.codec(name, "decode")))
    ]
    ordered = sorted(last, key=lambda row: float(row["rate"]))
    alone = bench.storage(f"{RANDOM}_cold")
    # The GPUs after the first have their answers in the tables alone.
    gpus = [device for device in bench.kernels if device != PROCESSOR]
    devices = [(one, 0) for one in bench.kernels if one == PROCESSOR]
    devices += [(one, len(gpus) - 1) for one in gpus[:1]]
    return {
        "in_order": [row for mode in MODES if (row := bench.storage(f"{SEQUENTIAL}_{mode}"))],
        "at_random": alone if alone and alone["iops"] is not None else None,
        # The slowest and the fastest.
        "decoded": (*ordered[:1], *ordered[1:][-1:]),
        "threads": plural(ordered[0]["at_once"], "thread") if ordered else "",
        "devices": [(one, more, _abilities(bench, one)) for one, more in devices],
    }


def _abilities(bench: Bench, device: str) -> list[tuple[Any, ...]]:
    rows = {row["test"]: row for row in timed(bench.kernels[device])}
    found = []
    for test, name in labels("abilities").items():
        if test in rows and (row := rows[test])["rate"] is not None:
            scale, unit = rate_parts(row["rate"], row["unit"])
            found.append((name, TESTS.cell(row, "rate", in_units(scale)), unit))
    return found


def trust_in_tests(rows: Sequence[Row], of_trials: Sequence[str] = ()) -> Trusted:
    """Judge the tests of a node, and the trials that they ran in."""
    whole = [row for row in rows if row["whole"]]
    has_result = any(row["tolerance"] is not None for row in whole)
    return judged(
        [
            Basis(
                f"{row['test']} on {row['device']}" if row["device"] else row["test"],
                row["flags"] or [],
                row["repeats"] if row["wall_s"] is not None else 0,
            )
            for row in whole
        ],
        what="tests",
        of_trials=of_trials,
        # A read of a file has no result.
        compared=True if has_result else None,
        none_timed="no test has a time",
        in_favour=["every result is right"] * has_result,
        of_rates=True,
    )


def place(bench: Bench) -> dict[str, str]:
    """Known properties of the measured folders, by name."""
    told = {"true": "yes", "false": "no"}
    return {
        f"{folder}{name}": told.get(text, text)
        for prefix, folder in FOLDERS.items()
        for key, name in labels("place").items()
        if (text := bench.place.get(f"{prefix}_{key}"))
    }


def _tests(rows: Sequence[Row]) -> Iterator[str]:
    """Name tests, without steps where they stand for themselves, and of several nodes the nodes."""
    wholes = [row for row in rows if row["whole"]] or rows
    for name, of in grouped((name_of(row), row["bench"]) for row in wholes).items():
        yield name + (f" of {listing(dict.fromkeys(of))}" if of[0] else "")


def _how_near(row: Row) -> float:
    """Order ratios from the one that is farthest from 1, in either direction."""
    found = float(row["ratio"])
    return min(found, 1 / found)
