"""Tables of the tests of one node, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.dictionary import in_units
from pyscale.report.machine.bench import (
    CODECS,
    MEGA,
    MODES,
    PROCESSOR,
    Bench,
    cannot,
    doubts,
    label,
    mode_of,
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
    laid_out,
    numbers,
    words,
)
from pyscale.report.section import there
from pyscale.wording import ABSENT, grouped, phase, ratio
from pyscale_stages.record import SHARES

TEST = ("stage", "workers", "device", "test", "step", "at_once")
"""What names a test of several nodes."""
CAPTIONS = {"storage": "Storage", "decompress": "Decompression", "kernels": "Compute kernels"}


def of(bench: Bench) -> tuple[Table, ...]:
    """Every test: a table for each stage, and for each device that computed."""
    # Reads stand in the order in which they are compared.
    reads = {id(row): place for place, row in enumerate(bench.reads)}
    ordered = sorted(bench.rows, key=lambda row: reads.get(id(row), len(reads)))
    whole = [row for row in ordered if row["whole"]]
    return there(*(_tests(*one) for one in grouped((_caption(row), row) for row in whole).items()))


def steps(bench: Bench) -> tuple[Table, ...]:
    """Steps of the tests that are timed as a whole too."""
    parts = [row for row in bench.rows if not row["whole"]]
    return there(
        *(
            _tests(f"{caption}: steps", rows)
            for caption, rows in grouped((_caption(row), row) for row in parts).items()
        )
    )


def _caption(row: Row) -> str:
    device = f" on {row['device'] or PROCESSOR}" if row["kind"] == "kernels" else ""
    return f"{CAPTIONS.get(row['kind'], row['kind'])}{device}"


def _tests(caption: str, rows: Sequence[Row]) -> Table | None:
    is_storage = all(row["kind"] == "storage" for row in rows)
    columns: Columns = [
        words("Step", lambda row: row["step"] and phase(row["step"])),
        TESTS.column(
            "at_once",
            lambda row: (ABSENT,) if row["at_once"] == 1 else TESTS.cell(row, "at_once", str),
        ),
        *TESTS.columns("cache"),
        TESTS.column("wall_s", _time),
        numbers("Rate", _rate, "Of all together: work over this time; 95 % interval"),
        *TESTS.columns("iops", *(f"latency_p{share}_s" for share in SHARES)),
        *TESTS.columns("percent", "first_s", "error", "tolerance"),
        words(
            "Likely bottleneck",
            lambda row: "" if is_storage else tag(row),
            "Part of the machine on which its speed depends most, explained below",
        ),
        *TESTS.columns("repeats"),
        words(
            "Doubts",
            lambda row: ", ".join(doubts(row)),
            "Flags, explained below; or why it cannot run",
        ),
    ]
    return laid_out(caption, ((_name(row), row) for row in rows), columns, head="Test")


def _name(row: Row) -> str:
    if row["kind"] == "storage":
        # The state of the page cache says how what was timed was read.
        mode = MODES.get(mode_of(row["test"]) or "") if row["cache"] is None else None
        return ", ".join(filter(None, (what_was_read(row["test"]), mode)))
    return str(CODECS.get(row["test"], row["test"]))


def _time(row: Row) -> Cell:
    """Write a time with its interval; what has none says why."""
    if row["wall_s"] is None and row["why_not"]:
        return (cannot(row["why_not"]),)
    return TESTS.interval_cell(row, "wall_s")


def _rate(row: Row) -> Cell:
    if row["rate"] is None:
        return (ABSENT,)
    scale, unit = rate_parts(row["rate"], row["unit"])
    # In one unit, so that files of all kinds can be compared.
    if row["kind"] != "kernels" and row["unit"] == "B":
        scale, unit = MEGA, "MB/s"
    return (*TESTS.interval_cell(row, "rate", in_units(scale)), f" {unit}")


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


def _median(row: Row) -> Cell:
    scale, unit = (
        (1.0, "/s") if row["unit"] is None else rate_parts(row["median_rate"], row["unit"])
    )
    return (*NODES.cell(row, "median_rate", in_units(scale)), f" {unit}")
