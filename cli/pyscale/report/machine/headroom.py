"""Reading of the stages beside the rate of their node's storage: a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyscale.report.curves import Curve
from pyscale.report.machine.words import MEGA, megabytes
from pyscale.report.page.table import Columns, Table, laid_out, numbers, words, yes_no
from pyscale.report.page.values import HEADROOM, Row
from pyscale.report.wording import number, percent

if TYPE_CHECKING:
    from pyscale.analysis.machine.findings import MachineFindings

NEAR, FAR = 0.8, 0.5
"""Shares of the storage's rate above which it may limit reading, and below which it does not."""
HARDLY = 0.01
"""Share of the wall time below which faster reading would not matter."""
COLUMNS: Columns = [
    numbers("N", HEADROOM.plain("workers", str), "Workers on all nodes together"),
    words("Node", lambda row: row["node"]),
    numbers(
        "Readers",
        HEADROOM.plain("readers", str),
        "Workers that read on this node at once, at most",
    ),
    numbers("Trials", HEADROOM.plain("trials", str), "That read their input cold"),
    numbers(
        "Reading (s)",
        HEADROOM.plain("read_s"),
        "Time in which any of them was reading; median over trials",
    ),
    numbers(
        "Read (MB/s)",
        HEADROOM.plain("read_bytes_per_s", number, MEGA),
        "Upper bound: bytes of the input from storage over this time",
    ),
    numbers(
        "Storage (MB/s)",
        HEADROOM.plain("storage_bytes_per_s", number, MEGA),
        "Cold and in order, with as many readers or fewer",
    ),
    numbers("Its readers", HEADROOM.plain("test_readers", str)),
    numbers("Share", HEADROOM.plain("share", percent), "Upper bound: the one rate over the other"),
    words("Cold verified", lambda row: yes_no(row["proved"]), "On both sides"),
]


def table(machine: MachineFindings) -> Table | None:
    """Lay out every stage that read cold."""
    rows = [(row["stage"], row) for row in machine.headroom.iter_rows(named=True)]
    return laid_out("Reading of the stages, and the storage's rate", rows, COLUMNS)


def sentences(machine: MachineFindings, found: Sequence[Curve]) -> Iterator[str]:
    """State for every stage whether its storage has headroom."""
    wall_s = {
        (curve.key["stage"], row["workers"]): row["wall_s"]
        for curve in found
        for row in curve.timed
    }
    for row in machine.headroom.iter_rows(named=True):
        whole_s = wall_s.get((row["stage"], row["workers"]))
        if whole_s and row["read_s"] / whole_s < HARDLY:
            yield (
                f"{row['stage']} at N = {row['workers']} on {row['node']}: reading took "
                f"{number(row['read_s'])} s, less than {percent(HARDLY)} of the wall time; "
                "faster storage cannot save more."
            )
            continue
        of_whole = "" if not whole_s else f", {percent(row['read_s'] / whole_s)} of the wall time,"
        readers = row["test_readers"]
        yield (
            f"{row['stage']} at N = {row['workers']} on {row['node']}: reading took "
            f"{number(row['read_s'])} s{of_whole} at {megabytes(row['read_bytes_per_s'])} or less; "
            f"this node's storage reaches {megabytes(row['storage_bytes_per_s'])} cold with "
            f"{readers} reader{'s' * (readers > 1)}{_proved(row)}: {_follows(row)}."
        )


def _proved(row: Row) -> str:
    return "" if row["proved"] else " (cold cache not verified on both sides)"


def _follows(row: Row) -> str:
    share = percent(row["share"])
    if row["share"] < FAR:
        sure = "does not limit" if row["proved"] else "seems not to limit"
        return f"at most {share} was used, so storage {sure} reading"
    if row["share"] < NEAR:
        return f"up to {share} was used; storage may limit reading at times"
    return f"up to {share} was used; storage may limit reading, so try faster storage"
