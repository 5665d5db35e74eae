"""Tables of the tests of one node, each number tied to the CSV that holds it."""

from __future__ import annotations

from operator import itemgetter

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.dictionary import WAYS, Written, in_units
from pyscale.report.machine.bench import Bench
from pyscale.report.machine.testlabels import (
    CODECS,
    cannot,
    doubts,
    label,
    rate_parts,
    tag,
    what_was_read,
)
from pyscale.report.page.values import (
    NODES,
    TESTS,
    Cell,
    Columns,
    Row,
    Table,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.report.section import there
from pyscale.wording import ABSENT, grouped, number, phase, ratio
from pyscale_stages.metric import SHARES
from pyscale_stages.wording import plural

LATENCIES = tuple(f"latency_p{share}_s" for share in SHARES)
TEST = ("stage", "workers", "device", "test", "step", "at_once")
"""What names a test of several nodes."""
DOUBTS = words(
    "Doubts", lambda row: ", ".join(doubts(row)), "Flags, explained below; or why it cannot run"
)
BOTTLENECK = words(
    "Likely bottleneck",
    tag,
    "Part of the machine on which its speed depends most, explained below",
)


def reads(bench: Bench) -> Table | None:
    """Bandwidth, operations per second and latencies of everything that was read and written."""
    columns: Columns = [
        *TESTS.columns("cache"),
        TESTS.column("at_once", means="Readers: processes with a share of the files each"),
        numbers(
            "MB/s",
            _measured("rate", WAYS["MB"]),
            "10^6 bytes a second, of all together; 95 % interval",
        ),
        *TESTS.columns("iops", *LATENCIES, "repeats"),
        DOUBTS,
    ]
    rows = []
    for row in (*bench.reads, *bench.writes):
        step = "" if row["step"] is None else f": {phase(row['step'])}"
        rows.append((f"{what_was_read(row['test'])}{step}", row))
    return laid_out("Storage", rows, columns, head="Read or written")


def metadata(bench: Bench) -> Table | None:
    """Operations on small files, one after the other."""
    columns: Columns = [
        numbers("Files/s", _measured("rate"), "One after the other; 95 % interval"),
        *TESTS.columns(*LATENCIES, "cache", "repeats"),
        DOUBTS,
    ]
    named = [(row["test"].removeprefix("metadata_").capitalize(), row) for row in bench.metadata]
    return laid_out("Small files", named, columns, head="Operation")


def codecs(bench: Bench) -> Table | None:
    """Reading apart from decoding, and decoding over numbers of threads."""
    columns: Columns = [
        numbers(
            "Reading (MB/s)",
            lambda row: _rate(row["read"]),
            "Of the file, from storage into memory; 95 % interval",
        ),
        *TESTS.columns("cache"),
        *(
            numbers(
                f"{plural(count, 'thread')} (MB/s)",
                _decoding(count),
                "Of decoded pixels, from memory to memory; 95 % interval",
            )
            for count in bench.threads
        ),
        BOTTLENECK,
        (DOUBTS[0], lambda row: (", ".join(row["doubts"]) or ABSENT,)),
    ]
    rows = []
    for name in bench.codecs:
        read = next(iter(bench.codec(name, "read")), None)
        decoded = {row["at_once"]: row for row in bench.codec(name, "decode")}
        every = [row for row in (read, *decoded.values()) if row]
        told = {
            "read": read,
            "cache": read and read["cache"],
            "decoded": decoded,
            "bottleneck": next((row["bottleneck"] for row in (*decoded.values(), *every)), None),
            "doubts": dict.fromkeys(doubt for row in every for doubt in doubts(row)),
        }
        rows.append((CODECS.get(name, name), told))
    return laid_out("Decompression", rows, columns, head="Format and codec")


def kernels(bench: Bench, device: str) -> Table | None:
    """Time, rate and judgement of every test on one device."""
    columns: Columns = [
        numbers(
            "Time (s)",
            _measured("wall_s"),
            "Median over trials, without first calls; 95 % interval",
        ),
        numbers("Rate", _rate_with_unit, "Work over this time"),
        *TESTS.columns("percent", "first_s", "error", "tolerance"),
        BOTTLENECK,
        *TESTS.columns("repeats"),
        DOUBTS,
    ]
    named = [(row["test"], row) for row in bench.kernels[device]]
    return laid_out(f"Compute kernels on {device}", named, columns, head="Test")


def steps(bench: Bench, device: str) -> Table | None:
    """Steps of every test that has any."""
    columns: Columns = [
        words("Step", lambda row: phase(row["step"])),
        numbers(
            "Time (s)",
            _measured("wall_s"),
            "In one call of the test, of all calls of the step",
        ),
        TESTS.column("percent", means="Of its test"),
        numbers("Rate", _rate_with_unit),
        BOTTLENECK,
        DOUBTS,
    ]
    named = [(row["test"], step) for row in bench.kernels[device] for step in bench.steps(row)]
    return laid_out(f"Steps of the kernels on {device}", named, columns, head="Test")


def nodes(machine: MachineFindings) -> Table | None:
    """Lay out every test that several nodes did."""
    columns: Columns = [
        *NODES.columns("nodes"),
        NODES.column("median_rate", _median),
        words("Slowest node", lambda row: row["node"]),
        *NODES.columns("ratio"),
        words("Fastest node", lambda row: row["fastest"]["node"]),
        numbers(
            "Its ratio ",
            lambda row: NODES.interval_cell(row["fastest"], "ratio", ratio),
            "The same",
        ),
        words("Outliers", lambda row: row["apart"], "Nodes whose ratio stands below"),
    ]
    rows = []
    for own in grouped((itemgetter(*TEST)(row), row) for row in machine.nodes.to_dicts()).values():
        slowest, fastest = (choose(own, key=itemgetter("ratio")) for choose in (min, max))
        apart = ", ".join(row["node"] for row in own if row["outlier"])
        rows.append((label(own[0]), slowest | {"fastest": fastest, "apart": apart}))
    return laid_out("Nodes compared", rows, columns, head="Test")


def of(bench: Bench) -> tuple[Table, ...]:
    """Every table of a bench but those of steps."""
    every = (reads(bench), metadata(bench), codecs(bench))
    return there(*every, *(kernels(bench, device) for device in bench.kernels))


def _median(row: Row) -> Cell:
    scale, unit = (
        (1.0, "/s") if row["unit"] is None else rate_parts(row["median_rate"], row["unit"])
    )
    return (*NODES.cell(row, "median_rate", in_units(scale)), f" {unit}")


def _measured(column: str, written: Written = number) -> Writer:
    """Write one number with its interval; what has none says why."""

    def write(row: Row) -> Cell:
        if row[column] is None and row["why_not"]:
            return (cannot(row["why_not"]),)
        return TESTS.interval_cell(row, column, written)

    return write


def _rate(row: Row | None) -> Cell:
    return (ABSENT,) if row is None else _measured("rate", WAYS["MB"])(row)


def _decoding(threads: int) -> Writer:
    return lambda row: _rate(row["decoded"].get(threads))


def _rate_with_unit(row: Row) -> Cell:
    if row["rate"] is None:
        return (ABSENT,)
    scale, unit = rate_parts(row["rate"], row["unit"])
    return (*TESTS.cell(row, "rate", in_units(scale)), f" {unit}")
