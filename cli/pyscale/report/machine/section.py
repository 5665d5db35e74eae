"""The machine in words: what its storage, processors and GPUs reach, and nodes compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.machine.nodes import FAST, LEAST_NODES, SLOW
from pyscale.analysis.trust import trust_in_tests
from pyscale.report import sentences
from pyscale.report.dictionary import STATES
from pyscale.report.machine import tables
from pyscale.report.machine.bench import MOST_BENCHES, PROCESSOR, Bench, benches, timed
from pyscale.report.machine.testlabels import (
    BOTTLENECKS,
    CODECS,
    GIGA,
    MEGA,
    MODES,
    NOT_APPLICABLE,
    UNCODED,
    Row,
    label,
    name_of,
    rate_parts,
)
from pyscale.report.page.values import TESTS, Cell, Value
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, doubts_of, there
from pyscale.wording import few, grouped, listing, number, ratio
from pyscale_stages.wording import plural

HERE = "This machine"
SEQUENTIAL, RANDOM = "particle_sequential_read", "particle_random_read"
"""Reads that answer the question of storage."""
ANCESTOR_GB = 13.1
"""Size of the particle stack of the benchmark that this one follows."""
MOST_TESTS = 3
"""More tests in which a node is an outlier are counted; the table names it in each."""
PLACE = {
    "filesystem": "Filesystem",
    "device": "Device",
    "options": "Mounted with",
    # Drivers of virtual disks often report that they rotate.
    "rotational": "Rotating disk, by its driver",
    "scheduler": "I/O scheduler",
    "read_ahead_bytes": "Read ahead (bytes)",
    "unknown_because": "Reason for unknown properties",
}
"""Properties of the filesystem of a folder."""
FOLDERS = {"place": "", "cache": "Cache folder: "}
AT_ONCE = (
    "Where N processes of a node measured at once, each ran all tests: the numbers are of one "
    "process beside the others."
)
ABILITIES = {
    "picking": "picking",
    "fsc_tight": "shell correlation",
    "host_to_device_pinned": "to the GPU, pinned",
}
LEFT_OUT = {
    *("Doubts", "Trials", "Median (ms)", "p95 (ms)", "First call (s)", "Error", "Allowed"),
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
                said=(*_outliers(machine), *of_all(found, scale), *of_all(found, cannot_run)),
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
                folded=there(
                    *(tables.steps(bench, one) for bench in found for one in bench.kernels)
                ),
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
        figures=(
            *("machinenodes", "machinestorage", "machinereaders"),
            *("machinecodecs", "machinekernels"),
        ),
        scales=("log", "linear"),
        leads=False,
        doubts=(
            *of_all(found, doubts),
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
    if not machine.nodes.is_empty():
        yield Answered("All nodes", (Answer("Nodes", "nodes", *in_short(machine)),))
    of_trials = flags_of_trials(results.configurations, machine.entries)
    for bench in found if len(found) <= MOST_BENCHES else ():
        # The GPUs after the first have their answers in the tables alone.
        gpu = next((device for device in bench.kernels if device != PROCESSOR), None)
        more = len(bench.kernels) - 1 - (PROCESSOR in bench.kernels)
        answers = [
            *_storage(bench),
            *_codec(bench),
            *(_device(bench, PROCESSOR, 0) if PROCESSOR in bench.kernels else ()),
            *(_device(bench, gpu, more) if gpu else ()),
        ]
        trusted = trust_in_tests(bench.rows, of_trials)
        yield Answered.of(bench.name or HERE, answers, trusted)


def _storage(bench: Bench) -> Iterator[Answer]:
    in_order = [row for mode in MODES if (row := bench.storage(f"{SEQUENTIAL}_{mode}"))]
    if not in_order:
        return
    told: Cell = ()
    for row in in_order:
        state = STATES.get(row["cache"] or "", "in an unknown state")
        told = (*told, "; ", _scaled(row, MEGA), f"{'' if told else ' MB/s'} {state}")
    if (alone := bench.storage(f"{RANDOM}_cold")) and alone["iops"] is not None:
        told = (*told, "; ", *TESTS.cell(alone, "iops"), " random reads/s")
    _, head, *rest = told
    yield Answer("Storage", "storage", (head,), (*rest, ", by one reader."))


def _codec(bench: Bench) -> Iterator[Answer]:
    last = [
        rows[-1]
        for name in bench.codecs
        if name not in UNCODED and (rows := timed(bench.codec(name, "decode")))
    ]
    if not last:
        return
    ordered = sorted(last, key=lambda row: float(row["rate"]))
    told: Cell = ()
    for row in (ordered[0], *ordered[1:][-1:]):
        name = CODECS.get(row["test"], row["test"])
        told = (*told, " to ", _scaled(row, MEGA), f" MB/s ({name})")
    _, head, *rest = told
    on = f" of pixels on {plural(ordered[0]['at_once'], 'thread')}."
    yield Answer("Decode", "decoding", (head,), (*rest, on))


def _scaled(row: Row, scale: float) -> Value | str:
    return TESTS.value(row, "rate", number(row["rate"] / scale))


def _device(bench: Bench, device: str, others: int) -> Iterator[Answer]:
    rows = {row["test"]: row for row in timed(bench.kernels[device])}
    told: Cell = ()
    for test, name in ABILITIES.items():
        if test in rows and (row := rows[test])["rate"] is not None:
            scale, unit = rate_parts(row["rate"], row["unit"])
            told = (*told, "; ", _scaled(row, scale), f" {unit} ({name})")
    if told:
        _, head, *rest = told
        more = f", and {others} more below" if others else ""
        yield Answer("Compute", "compute", (head,), (*rest, f" on {device}{more}."))


def place(bench: Bench) -> dict[str, str]:
    """Known properties of the measured folders, by name."""
    told = {"true": "yes", "false": "no"}
    return {
        f"{folder}{name}": told.get(text, text)
        for prefix, folder in FOLDERS.items()
        for key, name in PLACE.items()
        if (text := bench.place.get(f"{prefix}_{key}"))
    }


def scale(bench: Bench) -> Iterator[str]:
    """State how large the particle stack is beside that of CryoSPARC's benchmark."""
    row = next((row for row in bench.writes if row["amount"] is not None), None)
    if row is not None:
        amount = row["amount"]
        is_large = amount >= GIGA / 10
        size = f"{number(amount / GIGA)} GB" if is_large else f"{number(amount / MEGA)} MB"
        yield (
            f"The particle stack has {size}, that of CryoSPARC's benchmark {ANCESTOR_GB} GB: if "
            "they differ, compare rates, not times."
        )


def cannot_run(bench: Bench) -> Iterator[str]:
    """Name the tests without a time, by the reason."""
    without = ((row["why_not"], row) for row in bench.rows if row["why_not"])
    for reason, rows in grouped(without).items():
        told = few(map(name_of, _wholes(rows)))
        yield f"Cannot run here: {told}: {reason.removeprefix(f'{NOT_APPLICABLE}: ')}."


def doubts(bench: Bench) -> Iterator[str]:
    """Give the sentence of every flag once, with the tests that raise it."""
    rows = [row for row in bench.rows if row["wall_s"] is not None or row["flags"]]
    yield from doubts_of(rows, lambda raised: map(name_of, _wholes(raised)))


def _wholes(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows that stand for themselves, where there are such: their steps go with them."""
    return [row for row in rows if row["whole"]] or rows


def of_all(found: Sequence[Bench], said: Callable[[Bench], Iterable[str]]) -> Iterator[str]:
    """Give equal sentences on several nodes once, with their names; on all nodes without."""
    each = ((sentence, bench.name) for bench in found for sentence in said(bench))
    for sentence, names in grouped(each).items():
        yield f"{'' if len(names) == len(found) else f'{few(names)}: '}{sentence}"


def in_short(machine: MachineFindings) -> tuple[Cell, Cell]:
    """Name the outliers in a few words."""
    apart = machine.nodes.filter("outlier").to_dicts()
    if not apart:
        head, _, rest = next(_outliers(machine)).partition(":")
        return (head,), (f":{rest}",)
    worst = min(apart, key=_how_near)
    nodes = list(dict.fromkeys(row["node"] for row in apart))
    return (few(nodes),), (
        f" {'is an outlier' if len(nodes) == 1 else 'are outliers'}; farthest {worst['node']} with "
        f"{ratio(worst['ratio'])} of the median in {label(worst)}.",
    )


def _outliers(machine: MachineFindings) -> Iterator[str]:
    """Name every outlier, or state that there is none, or why that is unknown."""
    rows = machine.nodes.to_dicts()
    apart = [row for row in rows if row["outlier"]]
    for node in dict.fromkeys(row["node"] for row in apart):
        own = sorted((row for row in apart if row["node"] == node), key=_how_near)
        told = [
            f"{ratio(row['ratio'])} of the median of {row['nodes']} nodes in {label(row)} "
            f"(95 % interval {ratio(row['ratio_low'])} to {ratio(row['ratio_high'])})"
            for row in own
        ]
        others = "more tests" if len(own) > MOST_TESTS + 1 else "more test"
        yield f"{node} is an outlier: {few(told, MOST_TESTS, others)}."
    if apart or not rows:
        return
    if all(row["outlier"] is None for row in rows):
        few_nodes = max(row["nodes"] for row in rows) < LEAST_NODES
        no_interval = "no test has enough trials for an interval"
        why = f"fewer than {LEAST_NODES} nodes" if few_nodes else no_interval
        yield f"Outliers unknown: {why}."
        return
    yield (
        f"No outliers: no node is below {SLOW:g} or above {FAST:g} of the median of all nodes "
        "with an interval that excludes 1."
    )


def _how_near(row: Row) -> float:
    """Order ratios from the one that is farthest from 1, in either direction."""
    found = float(row["ratio"])
    return min(found, 1 / found)
