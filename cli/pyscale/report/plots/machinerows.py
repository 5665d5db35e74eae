"""Rows of the plots of the machine: what is drawn as numbers, what is read on it as text."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.dictionary import STATES
from pyscale.report.machine.bench import MOST_BENCHES, Bench, benches, timed
from pyscale.report.machine.words import (
    CODECS,
    MEGA,
    MODES,
    doubts,
    label,
    megabytes,
    mode_of,
    name_of,
    rate,
    tag,
    what_was_read,
)
from pyscale.report.plots.plot import WITH_ENDS, Row, ends_of, sure
from pyscale.report.results import Results
from pyscale.report.wording import interval, number, percent, ratio, with_interval

KINDS = {"storage": "storage", "decompress": "decompression", "kernels": "compute"}


def drawn_benches(results: Results) -> list[Bench]:
    """Those that are drawn each by itself: none where they are too many."""
    found = benches(results.of(MachineFindings))
    return found if len(found) <= MOST_BENCHES else []


def storage_rows(found: Sequence[Bench]) -> list[Row]:
    """Every read of one reader, and every write, that has a rate."""
    return [
        _rated(bench, row)
        | {
            "what": what_was_read(row["test"]),
            "mode": MODES.get(mode_of(row["test"]) or "", "written"),
            "state": STATES.get(row["cache"] or "", "no matter"),
            "random": f"{number(row['iops'])} / s" if row["iops"] is not None else "not counted",
        }
        for bench in found
        for row in timed([*bench.reads, *bench.writes])
        if row["at_once"] == 1
        and row["step"] is None
        and row["rate"] is not None
        # One reader in a process of its own: among the readers.
        and not row["test"].startswith("parallel_read_")
    ]


def reader_rows(found: Sequence[Bench]) -> list[Row]:
    """Bandwidth of 1 to N readers together."""
    return [
        _rated(bench, row) | {"line": MODES[mode_of(row["test"]) or ""]}
        for bench in found
        for row in timed(bench.reads)
        if row["test"].startswith("parallel_read_") and row["rate"] is not None
    ]


def codec_rows(found: Sequence[Bench]) -> list[Row]:
    """Decoded pixels of each codec over threads."""
    return [
        _rated(bench, row) | {"line": CODECS.get(name, name)}
        for bench in found
        for name in bench.codecs
        for row in timed(bench.codec(name, "decode"))
    ]


def kernel_rows(found: Sequence[Bench]) -> list[Row]:
    """Time of every kernel on every device of one node; of several, their ratios are drawn."""
    if len(found) > 1:
        return []
    return [
        {
            "curve": bench.name,
            "device": device,
            "test": row["test"],
            **ends_of("wall_s", row),
            "took": f"{with_interval(*(number(row[f'wall_s{end}']) for end in WITH_ENDS))} s",
            "rated": rate(row) or "not told",
            "shared": percent(row["percent"]),
            "bottleneck": tag(row),
            "doubts": ", ".join(doubts(row)) or "none",
        }
        for bench in found
        for device, rows in bench.kernels.items()
        for row in timed(rows)
    ]


def node_rows(results: Results) -> list[Row]:
    """Every node's ratio to the median, test by test."""
    machine = results.of(MachineFindings)
    if machine is None:
        return []
    return [
        {
            "curve": "",
            "node": row["node"],
            "kind": KINDS.get(row["kind"], row["kind"]),
            "test": label(row),
            "ratio": row["ratio"],
            "median": 1.0,
            "apart": bool(row["outlier"]),
            "told": interval(row, "ratio", ratio),
            "hardware": row["hardware"],
        }
        for row in machine.nodes.iter_rows(named=True)
    ]


def _rated(bench: Bench, row: Row) -> Row:
    """What every chart of rates draws and tells."""
    per_s = ends_of("rate", row, factor=1 / MEGA)
    return {
        "curve": bench.name,
        "test": name_of(row),
        "at_once": row["at_once"],
        **per_s,
        "rated": megabytes(row["rate"]),
        "sure": sure(per_s, "rate", number, "MB/s"),
        "timed": str(row["repeats"]),
        "doubts": ", ".join(doubts(row)) or "none",
    }
