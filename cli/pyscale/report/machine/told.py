"""Sentences on the abilities of one node, by heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.machine.bench import Bench, timed
from pyscale.report.machine.words import (
    CODECS,
    GIGA,
    MEGA,
    MODES,
    NOT_APPLICABLE,
    STATES,
    UNCODED,
    Row,
    megabytes,
    rate,
    what_was_read,
)
from pyscale.report.wording import listing, number

ANCESTOR_GB = 13.1
"""Size of the particle stack of the benchmark that this one follows."""
MILLI = 1e-3
MOST_NAMED = 6
"""More tests that raise a flag, or cannot run, are counted, not named."""
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


def place(bench: Bench) -> dict[str, str]:
    """Known properties of the measured folders, by name."""
    found = {
        f"{folder}{name}": _yes(text)
        for prefix, folder in FOLDERS.items()
        for key, name in PLACE.items()
        if (text := bench.place.get(f"{prefix}_{key}"))
    }
    if "fio" in bench.place:
        found["fio"] = bench.place["fio"]
    return found


def _yes(text: str) -> str:
    return {"true": "yes", "false": "no"}.get(text, text)


def sequential(bench: Bench) -> Iterator[str]:
    """State the bandwidth of one reader, in each state of the page cache, and fio's beside it."""
    for name in ("particle_sequential_read", "cache_sequential_read"):
        found = [row for mode in MODES if (row := bench.storage(f"{name}_{mode}"))]
        if not found:
            continue
        yield f"{what_was_read(name)}, one reader: {listing(_bandwidth(row) for row in found)}."
        beside = [(row, other) for row in found if (other := bench.fio(row))]
        if beside:
            told = listing(f"{megabytes(other['rate'])} {_mode(row)}" for row, other in beside)
            yield f"fio reads the same files at {told}."


def at_random(bench: Bench) -> Iterator[str]:
    """State bandwidth, reads per second and latencies of reads at random."""
    for name in ("particle_random_read", "cache_random_read"):
        for mode in MODES:
            row = bench.storage(f"{name}_{mode}")
            if row is None or row["iops"] is None:
                continue
            yield (
                f"{what_was_read(name)}, {_mode(row)}: {number(row['iops'])} reads a second, "
                f"{megabytes(row['rate'])}{_latency(row)}."
            )


def at_once(bench: Bench) -> Iterator[str]:
    """State the bandwidth of several readers together."""
    for mode in MODES:
        rows = sorted(
            timed(row for row in bench.reads if row["test"] == f"parallel_read_{mode}"),
            key=lambda row: row["at_once"],
        )
        if len(rows) < 2:
            continue
        told = listing(
            f"{megabytes(row['rate'])} by {_readers(row)}{_interval(row)}" for row in rows
        )
        yield f"{_mode(rows[0]).capitalize()}: {told}."


def small_files(bench: Bench) -> Iterator[str]:
    """State operations on small files per second."""
    rows = timed(bench.metadata)
    if rows:
        told = listing(
            f"{row['test'].removeprefix('metadata_')} {number(row['rate'])}" for row in rows
        )
        yield f"Files a second, one after the other: {told}."


def scale(bench: Bench) -> Iterator[str]:
    """State how large the particle stack is beside that of CryoSPARC's benchmark."""
    row = next((row for row in bench.writes if row["amount"] is not None), None)
    if row is not None:
        yield (
            f"The particle stack has {_size(row['amount'])}, that of CryoSPARC's benchmark "
            f"{ANCESTOR_GB} GB: if they differ, compare rates, not times."
        )


def decoding(bench: Bench) -> Iterator[str]:
    """State how fast each codec is decoded, and its file read."""
    for name in bench.codecs:
        rows = timed(bench.codec(name, "decode"))
        if not rows:
            continue
        ends = [rows[0], rows[-1]] if len(rows) > 1 else rows
        told = listing(
            f"{megabytes(row['rate'])} on {row['at_once']} thread{'s' * (row['at_once'] > 1)}"
            f"{_interval(row)}"
            for row in ends
        )
        read = next(iter(timed(bench.codec(name, "read"))), None)
        beside = "" if read is None else f"; its file is read at {_bandwidth(read)}"
        done = "copied" if name in UNCODED else "decoded"
        yield f"{CODECS.get(name, name)}: {done} at {told}{beside}."


def abilities(bench: Bench) -> Iterator[str]:
    """State the plain abilities of each device."""
    for device, rows in bench.kernels.items():
        found = {row["test"]: row for row in timed(rows)}
        told = [
            f"{name} {rate(found[test])}"
            for test, name in (
                ("matrix_product", "matrix product"),
                ("fft_3d", "3D Fourier transform"),
                ("triad", "memory (triad)"),
                ("host_to_device_pinned", "host to device, pinned"),
            )
            if test in found and found[test]["rate"] is not None
        ]
        if told:
            yield f"{device}: {listing(told)}."


def cannot_run(bench: Bench) -> Iterator[str]:
    """Name the tests without a time, by the reason."""
    by_reason: dict[str, list[Row]] = {}
    for row in bench.rows:
        if row["why_not"]:
            by_reason.setdefault(row["why_not"], []).append(row)
    for reason, rows in by_reason.items():
        told_of = named(map(name_of, _wholes(rows)))
        yield f"{told_of}: {reason.removeprefix(f'{NOT_APPLICABLE}: ')}."


def doubts(bench: Bench) -> Iterator[str]:
    """Give the sentence of every flag once, with the tests that raise it."""
    for code, sentence in SENTENCES.items():
        raised = [row for row in bench.rows if code in (row["flags"] or [])]
        if raised:
            told = named(map(name_of, _wholes(raised)))
            where = "everywhere" if len(raised) == len(timed(bench.rows)) else told
            yield f"`{code}` ({where}): {sentence}"


def not_measured(found: list[Bench]) -> Iterator[str]:
    """List what the tests of a machine do not measure."""
    states = {row["cache"] for bench in found for row in bench.rows}
    few = any("few-repeats" in (row["flags"] or []) for bench in found for row in bench.rows)
    if few:
        yield f"95 % intervals of tests with fewer than {repeats_needed()} timed trials."
    if "verified-cold" in states or "direct" in states:
        yield (
            "Caches outside the node: cold covers the node's own page cache, not those of storage "
            "servers, disks and hypervisors, which O_DIRECT does not bypass either."
        )
    yield (
        "Other days and other nodes: the trials of a run follow each other within minutes, so "
        "intervals exclude slower changes of the load on shared storage."
    )


HEADINGS: tuple[tuple[str, Callable[[Bench], Iterator[str]]], ...] = (
    ("Reading in order", sequential),
    ("Reading at random", at_random),
    ("Several readers", at_once),
    ("Small files", small_files),
    ("Size of the particle stack", scale),
    ("Decoding", decoding),
    ("Computing", abilities),
    ("Tests that cannot run here", cannot_run),
)


def told(bench: Bench) -> list[tuple[str, list[str]]]:
    """Sentences by heading, without empty headings."""
    found = [(heading, list(said(bench))) for heading, said in HEADINGS]
    return [(heading, sentences) for heading, sentences in found if sentences]


def name_of(row: Row) -> str:
    """Name a row by its test, and by its step, number at once and GPU where it has such."""
    step = "" if row["step"] is None else f"/{row['step']}"
    many = "" if row["at_once"] == 1 else f" ({row['at_once']} at once)"
    on = "" if row["device"] is None else f" on {row['device']}"
    return f"{row['test']}{step}{many}{on}"


def _wholes(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows that stand for themselves, where there are such: their steps go with them."""
    return [row for row in rows if row["whole"]] or rows


def of_all(found: Sequence[Bench], said: Callable[[Bench], Iterable[str]]) -> Iterator[str]:
    """Give equal sentences on several nodes once, with their names; on all nodes without."""
    by_sentence: dict[str, list[str]] = {}
    for bench in found:
        for sentence in said(bench):
            by_sentence.setdefault(sentence, []).append(bench.name)
    for sentence, names in by_sentence.items():
        where = "" if len(names) == len(found) else f"{named(names)}: "
        yield f"{where}{sentence}"


def named(names: Iterable[str]) -> str:
    """Name tests or nodes, and count those beyond a few."""
    found = list(dict.fromkeys(names))
    rest = len(found) - MOST_NAMED
    shown = found[:MOST_NAMED] + ([f"{rest} more"] if rest > 0 else [])
    return listing(shown)


def _bandwidth(row: Row) -> str:
    return f"{megabytes(row['rate'])} {_mode(row)}{_interval(row)}"


def _interval(row: Row) -> str:
    if row["rate_low"] is None:
        return ""
    low, high = (number(row[f"rate_{end}"] / MEGA) for end in ("low", "high"))
    return f" (95 % interval {low} to {high})"


def _size(amount_bytes: float) -> str:
    if amount_bytes < GIGA / 10:
        return f"{number(amount_bytes / MEGA)} MB"
    return f"{number(amount_bytes / GIGA)} GB"


def _mode(row: Row) -> str:
    """State of the page cache in which a row was read."""
    if row["cache"] == "direct":
        return "past the page cache"
    return STATES.get(row["cache"] or "", "in an unknown state")


def _latency(row: Row) -> str:
    known = [
        f"{share} within {number(row[column] / MILLI)} ms"
        for share, column in (("half of them", "latency_p50_s"), ("99 %", "latency_p99_s"))
        if row[column] is not None
    ]
    return f"; {listing(known)}" if known else ""


def _readers(row: Row) -> str:
    return f"{row['at_once']} reader{'s' * (row['at_once'] > 1)}"
