"""Tables of the tests of one node, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyscale.report.machine.bench import Bench
from pyscale.report.machine.bottlenecks import BOTTLENECKS
from pyscale.report.machine.words import (
    CODECS,
    MEGA,
    STATES,
    Row,
    cannot,
    doubts,
    rate_parts,
    what_was_read,
)
from pyscale.report.page.table import Column, Group, Line, Table
from pyscale.report.page.values import MACHINE_TEST, Cell, Value, cell_text, value_of
from pyscale.report.wording import ABSENT, number, percent, phase

Writer = Callable[[Row], Cell]
MILLI = 1e-3
DOUBTS = Column(name="Doubts", means="Flags, explained below; or why it cannot run", is_text=True)
REPEATS = Column(name="Trials", means="Timed trials, each in its own process")
BOTTLENECK = Column(
    name="Likely bottleneck",
    means="Part of the machine on which its speed depends most, explained below",
    is_text=True,
)


def reads(bench: Bench) -> Table | None:
    """Bandwidth, operations per second and latencies of everything that was read and written."""
    columns: list[tuple[Column, Writer]] = [
        (
            Column(
                name="Page cache",
                means="Of this node, just before reading; cold is verified if no file was left in "
                "it",
                is_text=True,
            ),
            lambda row: (_cache(row),),
        ),
        (
            Column(name="At once", means="Readers: processes with a share of the files each"),
            _plain("at_once", str),
        ),
        (
            Column(name="MB/s", means="10^6 bytes a second, of all together; 95 % interval"),
            lambda row: rate_cell(row, MEGA),
        ),
        (
            Column(name="fio (MB/s)", means="The same read of the same files by the program fio"),
            lambda row: _of_fio(bench, row),
        ),
        (
            Column(name="Reads/s", means="Read calls a second"),
            _plain("iops", number),
        ),
        *(
            (
                Column(
                    name=f"{name} (ms)", means=f"Latency that {share} % of the reads do not exceed"
                ),
                _plain(f"latency_p{share}_s", number, MILLI),
            )
            for name, share in (("Median", 50), ("p95", 95), ("p99", 99))
        ),
        (REPEATS, _plain("repeats", str)),
        (DOUBTS, lambda row: (", ".join(doubts(row)) or ABSENT,)),
    ]
    return laid_out(
        "Storage",
        "Read or written",
        [(_what(row), row) for row in (*bench.reads, *bench.writes)],
        columns,
    )


def metadata(bench: Bench) -> Table | None:
    """Operations on small files, one after the other."""
    columns: list[tuple[Column, Writer]] = [
        (
            Column(name="Files/s", means="One after the other; 95 % interval"),
            lambda row: rate_cell(row, 1.0),
        ),
        *(
            (Column(name=f"{name} (ms)"), _plain(f"latency_p{share}_s", number, MILLI))
            for name, share in (("Median", 50), ("p95", 95), ("p99", 99))
        ),
        (
            Column(name="Page cache", means="Of the files that are read", is_text=True),
            lambda row: (_cache(row),),
        ),
        (REPEATS, _plain("repeats", str)),
        (DOUBTS, lambda row: (", ".join(doubts(row)) or ABSENT,)),
    ]
    named = [(row["test"].removeprefix("metadata_").capitalize(), row) for row in bench.metadata]
    return laid_out("Small files", "Operation", named, columns)


def codecs(bench: Bench) -> Table | None:
    """Reading apart from decoding, and decoding over numbers of threads."""
    lines: list[tuple[str, Line]] = []
    columns = [
        Column(name="Reading (MB/s)", means="Of the file, from storage into memory; 95 % interval"),
        Column(name="Page cache", means="Of the file, just before it was read", is_text=True),
        *(
            Column(
                name=f"{count} thread{'s' * (count > 1)} (MB/s)",
                means="Of decoded pixels, from memory to memory; 95 % interval",
            )
            for count in bench.threads
        ),
        BOTTLENECK,
        DOUBTS,
    ]
    for name in bench.codecs:
        read = next(iter(bench.codec(name, "read")), None)
        decoded = {row["at_once"]: row for row in bench.codec(name, "decode")}
        every = [*([] if read is None else [read]), *decoded.values()]
        lines.append(
            (
                CODECS.get(name, name),
                Line(
                    cells=(
                        (ABSENT,) if read is None else rate_cell(read, MEGA),
                        (ABSENT,) if read is None else (_cache(read),),
                        *(
                            rate_cell(decoded[count], MEGA) if count in decoded else (ABSENT,)
                            for count in bench.threads
                        ),
                        (tag(next(iter(decoded.values()), read)),),
                        (_said_once(every),),
                    )
                ),
            )
        )
    return _table("Decompression", "Format and codec", columns, lines)


def kernels(bench: Bench, device: str) -> Table | None:
    """Time, rate and judgement of every test on one device."""
    columns: list[tuple[Column, Writer]] = [
        (
            Column(name="Time (s)", means="Median over trials, without first calls; 95 % interval"),
            lambda row: interval_cell(row, "wall_s", 1.0),
        ),
        (Column(name="Rate", means="Work over this time"), _rate_with_unit),
        (
            Column(name="Share", means="Of the sum of the times of all tests on this device"),
            _plain("percent", percent),
        ),
        (
            Column(name="First call (s)", means="Includes one-time costs, like choosing code"),
            _plain("first_s", number),
        ),
        (
            Column(name="Error", means="Of its result against numpy's or scipy's"),
            _plain("error", _small),
        ),
        (Column(name="Allowed", means="The largest such error"), _plain("tolerance", _small)),
        (BOTTLENECK, lambda row: (tag(row),)),
        (REPEATS, _plain("repeats", str)),
        (DOUBTS, lambda row: (", ".join(doubts(row)) or ABSENT,)),
    ]
    named = [(row["test"], row) for row in bench.kernels[device]]
    return laid_out(f"Compute kernels on {device}", "Test", named, columns)


def steps(bench: Bench, device: str) -> Table | None:
    """Steps of every test that has any."""
    columns: list[tuple[Column, Writer]] = [
        (Column(name="Step", is_text=True), lambda row: (phase(row["step"]),)),
        (
            Column(name="Time (s)", means="In one call of the test, of all calls of the step"),
            lambda row: interval_cell(row, "wall_s", 1.0),
        ),
        (Column(name="Share", means="Of its test"), _plain("percent", percent)),
        (Column(name="Rate"), _rate_with_unit),
        (BOTTLENECK, lambda row: (tag(row),)),
        (DOUBTS, lambda row: (", ".join(doubts(row)) or ABSENT,)),
    ]
    named = [(row["test"], step) for row in bench.kernels[device] for step in bench.steps(row)]
    return laid_out(f"Steps of the kernels on {device}", "Test", named, columns)


def laid_out(
    caption: str,
    head: str,
    rows: Sequence[tuple[str, Row]],
    columns: Sequence[tuple[Column, Writer]],
) -> Table | None:
    """Lay rows out under their names; columns of which nothing is known are left out."""
    lines = [
        (
            name,
            Line(
                cells=tuple(write(row) for _, write in columns),
                is_invalid="disagrees" in (row["flags"] or []),
            ),
        )
        for name, row in rows
    ]
    return _table(caption, head, [column for column, _ in columns], lines)


def plain(table: Table) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table as texts; each row begins with its name."""
    names = [table.head, *(column.name for column in table.columns)]
    rows = [
        [group.name, *(cell_text(cell) for cell in line.cells)]
        for group in table.groups
        for line in group.lines
    ]
    return names, rows


def tag(row: Row | None) -> str:
    """Name the likely bottleneck of a row."""
    if row is None or row["bottleneck"] not in BOTTLENECKS:
        return ABSENT
    return BOTTLENECKS[row["bottleneck"]].text


def rate_cell(row: Row, scale: float) -> Cell:
    """Write a rate divided by `scale`, with its interval where there is one."""
    if row["rate"] is None:
        return (cannot(row["why_not"]) if row["why_not"] else ABSENT,)
    return interval_cell(row, "rate", scale)


def interval_cell(row: Row, column: str, scale: float) -> Cell:
    """Write one number divided by `scale`, with its interval where there is one."""
    if row[column] is None:
        return (cannot(row["why_not"]) if row["why_not"] else ABSENT,)
    found, low, high = (_scaled(row, f"{column}{end}", scale) for end in ("", "_low", "_high"))
    return (found,) if row[f"{column}_low"] is None else (found, " [", low, ", ", high, "]")


def _rate_with_unit(row: Row) -> Cell:
    if row["rate"] is None:
        return (ABSENT,)
    scale, unit = rate_parts(row["rate"], row["unit"])
    return (_scaled(row, "rate", scale), f" {unit}")


def _plain(column: str, written: Callable[[Any], str], scale: float | None = None) -> Writer:
    def write(row: Row) -> Cell:
        if row[column] is None:
            return (ABSENT,)
        text = written(row[column] if scale is None else row[column] / scale)
        return (value_of("tests", MACHINE_TEST, row, column, text),)

    return write


def _scaled(row: Row, column: str, scale: float) -> Value | str:
    text = ABSENT if row[column] is None else number(row[column] / scale)
    return value_of("tests", MACHINE_TEST, row, column, text)


def _of_fio(bench: Bench, row: Row) -> Cell:
    found = bench.fio(row)
    return (ABSENT,) if found is None else rate_cell(found, MEGA)


def _what(row: Row) -> str:
    step = "" if row["step"] is None else f": {phase(row['step'])}"
    return f"{what_was_read(row['test'])}{step}"


def _cache(row: Row) -> str:
    return STATES.get(row["cache"] or "", row["cache"] or ABSENT)


def _said_once(rows: Iterable[Row]) -> str:
    """Doubts of several rows, each once."""
    found = dict.fromkeys(doubt for row in rows for doubt in doubts(row))
    return ", ".join(found) or ABSENT


def _small(value: float) -> str:
    """Write an error: those of a few bits would fill a line with zeros."""
    return f"{value:.2g}"


def _table(
    caption: str, head: str, columns: Sequence[Column], lines: Sequence[tuple[str, Line]]
) -> Table | None:
    known = [
        place
        for place in range(len(columns))
        if any(line.cells[place] != (ABSENT,) for _, line in lines)
    ]
    if not lines or not known:
        return None
    groups: dict[str, list[Line]] = {}
    for name, line in lines:
        cells = tuple(line.cells[place] for place in known)
        kept = Line(cells=cells, is_invalid=line.is_invalid)
        groups.setdefault(name, []).append(kept)
    return Table(
        caption=caption,
        head=head,
        columns=tuple(columns[place] for place in known),
        groups=tuple(Group(name=name, lines=tuple(own)) for name, own in groups.items()),
    )
