"""Tables of the tests of one node, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Iterable

from pyscale.report.machine.bench import Bench
from pyscale.report.machine.bottlenecks import BOTTLENECKS
from pyscale.report.machine.words import (
    CODECS,
    MEGA,
    STATES,
    cannot,
    doubts,
    rate_parts,
    what_was_read,
)
from pyscale.report.page.table import Columns, Table, laid_out, numbers, words
from pyscale.report.page.values import TESTS, Cell, Row, Writer
from pyscale.report.wording import ABSENT, number, percent, phase

MILLI = 1e-3
DOUBTS = words(
    "Doubts", lambda row: ", ".join(doubts(row)), "Flags, explained below; or why it cannot run"
)
REPEATS = numbers("Trials", TESTS.plain("repeats", str), "Timed trials, each in its own process")


def tag(row: Row) -> str:
    """Name the likely bottleneck of a row."""
    explained = BOTTLENECKS.get(row["bottleneck"])
    return ABSENT if explained is None else explained.text


BOTTLENECK = words(
    "Likely bottleneck",
    tag,
    "Part of the machine on which its speed depends most, explained below",
)


def reads(bench: Bench) -> Table | None:
    """Bandwidth, operations per second and latencies of everything that was read and written."""
    columns: Columns = [
        words(
            "Page cache",
            _cache,
            "Of this node, just before reading; cold is verified if no file was left in it",
        ),
        numbers(
            "At once",
            TESTS.plain("at_once", str),
            "Readers: processes with a share of the files each",
        ),
        numbers(
            "MB/s", _measured("rate", MEGA), "10^6 bytes a second, of all together; 95 % interval"
        ),
        numbers(
            "fio (MB/s)",
            lambda row: _rate(bench.fio(row)),
            "The same read of the same files by the program fio",
        ),
        numbers("Reads/s", TESTS.plain("iops"), "Read calls a second"),
        *(
            numbers(f"{name} (ms)", latency, f"Latency that {share} % of the reads do not exceed")
            for name, share, latency in _latencies()
        ),
        REPEATS,
        DOUBTS,
    ]
    rows = [(_what(row), row) for row in (*bench.reads, *bench.writes)]
    return laid_out("Storage", rows, columns, head="Read or written")


def metadata(bench: Bench) -> Table | None:
    """Operations on small files, one after the other."""
    columns: Columns = [
        numbers("Files/s", _measured("rate"), "One after the other; 95 % interval"),
        *(numbers(f"{name} (ms)", latency) for name, _, latency in _latencies()),
        words("Page cache", _cache, "Of the files that are read"),
        REPEATS,
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
        words(
            "Page cache",
            lambda row: row["read"] and _cache(row["read"]),
            "Of the file, just before it was read",
        ),
        *(
            numbers(
                f"{count} thread{'s' * (count > 1)} (MB/s)",
                _decoding(count),
                "Of decoded pixels, from memory to memory; 95 % interval",
            )
            for count in bench.threads
        ),
        BOTTLENECK,
        (
            DOUBTS[0],
            lambda row: (_said_once(filter(None, (row["read"], *row["decoded"].values()))),),
        ),
    ]
    rows = []
    for name in bench.codecs:
        read = next(iter(bench.codec(name, "read")), None)
        decoded = {row["at_once"]: row for row in bench.codec(name, "decode")}
        first = next(iter(decoded.values()), read) or {"bottleneck": None}
        rows.append(
            (
                CODECS.get(name, name),
                {"read": read, "decoded": decoded, "bottleneck": first["bottleneck"]},
            )
        )
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
        numbers(
            "Share",
            TESTS.plain("percent", percent),
            "Of the sum of the times of all tests on this device",
        ),
        numbers(
            "First call (s)",
            TESTS.plain("first_s"),
            "Includes one-time costs, like choosing code",
        ),
        # Errors of a few bits would fill a line with zeros.
        numbers(
            "Error",
            TESTS.plain("error", "{:.2g}".format),
            "Of its result against numpy's or scipy's",
        ),
        numbers("Allowed", TESTS.plain("tolerance", "{:.2g}".format), "The largest such error"),
        BOTTLENECK,
        REPEATS,
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
        numbers("Share", TESTS.plain("percent", percent), "Of its test"),
        numbers("Rate", _rate_with_unit),
        BOTTLENECK,
        DOUBTS,
    ]
    named = [(row["test"], step) for row in bench.kernels[device] for step in bench.steps(row)]
    return laid_out(f"Steps of the kernels on {device}", named, columns, head="Test")


def _latencies() -> Iterable[tuple[str, int, Writer]]:
    for name, share in (("Median", 50), ("p95", 95), ("p99", 99)):
        yield name, share, TESTS.plain(f"latency_p{share}_s", number, MILLI)


def _measured(column: str, scale: float | None = None) -> Writer:
    """Write one number divided by `scale`, with its interval; what has none says why."""

    def write(row: Row) -> Cell:
        if row[column] is None and row["why_not"]:
            return (cannot(row["why_not"]),)
        return TESTS.interval_cell(row, column, number, scale)

    return write


def _rate(row: Row | None) -> Cell:
    return (ABSENT,) if row is None else _measured("rate", MEGA)(row)


def _decoding(threads: int) -> Writer:
    return lambda row: _rate(row["decoded"].get(threads))


def _rate_with_unit(row: Row) -> Cell:
    if row["rate"] is None:
        return (ABSENT,)
    scale, unit = rate_parts(row["rate"], row["unit"])
    return (*TESTS.cell(row, "rate", number, scale), f" {unit}")


def _what(row: Row) -> str:
    step = "" if row["step"] is None else f": {phase(row['step'])}"
    return f"{what_was_read(row['test'])}{step}"


def _cache(row: Row) -> str | None:
    return STATES.get(row["cache"] or "", row["cache"])


def _said_once(rows: Iterable[Row]) -> str:
    """Doubts of several rows, each once."""
    found = dict.fromkeys(doubt for row in rows for doubt in doubts(row))
    return ", ".join(found) or ABSENT
