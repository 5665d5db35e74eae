"""Short answers on a machine: numbers tied to the CSV, and doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.analysis.trust import trust_in_tests
from pyscale.report.machine.bench import MOST_BENCHES, PROCESSOR, Bench, timed
from pyscale.report.machine.words import CODECS, MEGA, MODES, STATES, UNCODED, Row, rate_parts
from pyscale.report.page.answers import Answer, Answered
from pyscale.report.page.values import TESTS, Cell, Value
from pyscale.report.wording import listing, number

HERE = "This machine"
SEQUENTIAL, RANDOM = "particle_sequential_read", "particle_random_read"
"""Reads that answer the question of storage."""


def verdicts(found: Sequence[Bench], of_trials: Sequence[str] = ()) -> list[Answered]:
    """Give the rates of each node's storage, processors and GPUs, and the trust in them."""
    if len(found) > MOST_BENCHES:
        return []
    return [
        Answered.of(bench.name or HERE, _answers(bench), trust_in_tests(bench.rows, of_trials))
        for bench in found
    ]


def ran(found: Sequence[Bench]) -> str:
    """Name the tests, in a line."""
    nodes = list(dict.fromkeys(bench.node for bench in found))
    counts = sorted({bench.workers for bench in found})
    kinds = list(dict.fromkeys(row["kind"] for bench in found for row in bench.rows))
    over = f" on {len(nodes)} nodes" if len(nodes) > 1 else ""
    many = "" if counts == [1] else f", N = {listing(counts)} processes at once"
    repeats = [row["repeats"] for bench in found for row in bench.rows if row["repeats"]]
    ends = sorted({min(repeats), max(repeats)}) if repeats else []
    trials = "trial" if ends == [1] else "trials"
    each = f", each test in {' to '.join(map(str, ends))} {trials}" if ends else ""
    return f"tests of the machine{over} ({listing(kinds)}{many}){each}"


def _answers(bench: Bench) -> Iterator[Answer]:
    yield from _storage(bench)
    yield from _codec(bench)
    gpus = [device for device in bench.kernels if device != PROCESSOR]
    if PROCESSOR in bench.kernels:
        yield from _device(bench, PROCESSOR, [])
    if gpus:
        yield from _device(bench, gpus[0], gpus[1:])


def _storage(bench: Bench) -> Iterator[Answer]:
    in_order = [row for mode in MODES if (row := bench.storage(f"{SEQUENTIAL}_{mode}"))]
    if not in_order:
        return
    first, *others = in_order
    rest: Cell = (f" MB/s {_state(first)}",)
    for row in others:
        rest = (*rest, "; ", _megabytes(row), f" {_state(row)}")
    if (alone := bench.storage(f"{RANDOM}_cold")) and alone["iops"] is not None:
        rest = (*rest, "; ", TESTS.value(alone, "iops", number(alone["iops"])), " random reads/s")
    yield Answer(
        question="Storage",
        answers="storage",
        head=(_megabytes(first),),
        rest=(*rest, ", by one reader."),
    )


def _codec(bench: Bench) -> Iterator[Answer]:
    last = [
        rows[-1]
        for name in bench.codecs
        if name not in UNCODED and (rows := timed(bench.codec(name, "decode")))
    ]
    if not last:
        return
    ordered = sorted(last, key=lambda row: float(row["rate"]))
    slowest, fastest = ordered[0], ordered[-1]
    threads = f"{slowest['at_once']} thread{'s' * (slowest['at_once'] > 1)}"
    rest: Cell = (f" MB/s ({_named(slowest)})",)
    if fastest is not slowest:
        rest = (*rest, " to ", _megabytes(fastest), f" MB/s ({_named(fastest)})")
    yield Answer(
        question="Decode",
        answers="decoding",
        head=(_megabytes(slowest),),
        rest=(*rest, f" of pixels on {threads}."),
    )


def _device(bench: Bench, device: str, others: Sequence[str]) -> Iterator[Answer]:
    """Answer for one device; the others have their answers in the tables alone."""
    rows = {row["test"]: row for row in timed(bench.kernels[device])}
    known = [
        (name, rows[test])
        for test, name in (
            ("matrix_product", "matrix product"),
            ("fft_3d", "3D Fourier transform"),
            ("triad", "memory"),
            ("host_to_device_pinned", "to the GPU, pinned"),
        )
        if test in rows and rows[test]["rate"] is not None
    ]
    if not known:
        return
    (name, first), *further = known
    rest: Cell = (f" {_unit(first)} ({name})",)
    for other, row in further:
        rest = (*rest, "; ", _scaled(row), f" {_unit(row)} ({other})")
    more = f", and {len(others)} more below" if others else ""
    yield Answer(
        question="Compute",
        answers="compute",
        head=(_scaled(first),),
        rest=(*rest, f" on {device}{more}."),
    )


def _state(row: Row) -> str:
    return STATES.get(row["cache"] or "", "in an unknown state")


def _named(row: Row) -> str:
    return CODECS.get(row["test"]) or str(row["test"])


def _megabytes(row: Row) -> Value | str:
    return TESTS.value(row, "rate", number(row["rate"] / MEGA))


def _scaled(row: Row) -> Value | str:
    return TESTS.value(row, "rate", number(row["rate"] / rate_parts(row["rate"], row["unit"])[0]))


def _unit(row: Row) -> str:
    return rate_parts(row["rate"], row["unit"])[1]
