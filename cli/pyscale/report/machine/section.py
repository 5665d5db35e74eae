"""The machine: what its storage, processors and GPUs reach, and nodes compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.machine.findings import FAST, LEAST_NODES, SLOW, MachineFindings
from pyscale.analysis.trust import Basis, Trusted, judged
from pyscale.report import sentences
from pyscale.report.answered import answers
from pyscale.report.dictionary import in_units, labels
from pyscale.report.machine.bench import (
    BOTTLENECKS,
    CODECS,
    MEGA,
    MODES,
    MOST_BENCHES,
    PROCESSOR,
    UNCODED,
    Bench,
    benches,
    cannot,
    doubts,
    label,
    mode_of,
    name_of,
    rate_parts,
    tag,
    timed,
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
from pyscale.report.results import Results
from pyscale.report.section import Answered, Block, Section, doubts_of, there
from pyscale.wording import ABSENT, grouped, listing, of_each, phase, ratio
from pyscale_stages.record import SHARES
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
    compared = compared_nodes(machine)
    shown = [] if several or is_long else [one for bench in found for one in whole_tests(bench)]
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
                    tables=whole_tests(bench),
                    is_folded=len(found) > 1,
                    is_on_page_alone=is_long,
                )
                for bench in found
            ),
            Block(
                folded=tuple(one for bench in found for one in steps(bench)),
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
                _named,
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
    each = f", {of_each(repeats)}" if repeats else ""
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
    decoded = grouped(
        (row["test"], row)
        for row in timed(bench.of("decompress"))
        if row["step"] == "decode" and row["test"] not in UNCODED
    )
    # Of each codec by the most threads.
    most = (max(rows, key=itemgetter("at_once")) for rows in decoded.values())
    ordered = sorted(most, key=lambda row: float(row["rate"]))
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


def _named(rows: Sequence[Row]) -> Iterator[str]:
    """Name tests, without steps where they stand for themselves, and of several nodes the nodes."""
    wholes = [row for row in rows if row["whole"]] or rows
    for name, of in grouped((name_of(row), row["bench"]) for row in wholes).items():
        yield name + (f" of {listing(dict.fromkeys(of))}" if of[0] else "")


def _how_near(row: Row) -> float:
    """Order ratios from the one that is farthest from 1, in either direction."""
    found = float(row["ratio"])
    return min(found, 1 / found)


TEST = ("stage", "workers", "device", "test", "step", "at_once")
"""What names a test of several nodes."""
CAPTIONS = {"storage": "Storage", "decompress": "Decompression", "kernels": "Compute kernels"}


def whole_tests(bench: Bench) -> tuple[Table, ...]:
    """Every test: a table for each stage, and for each device that computed."""
    whole = [row for row in bench.rows if row["whole"]]
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


def compared_nodes(machine: MachineFindings) -> Table | None:
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
