"""A grid: how much faster one device is than another, from which size on, how far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pyscale.analysis.flags import INVALIDATING
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.analysis.trust import Basis, Trusted, judged
from pyscale.report.answered import answers
from pyscale.report.curves import curves
from pyscale.report.grid import tables
from pyscale.report.grid.sweep import (
    DEVICE,
    Row,
    Sweep,
    codes,
    ends,
    flattens,
    named,
    point_name,
    size,
    sweeps,
    the,
)
from pyscale.report.page.tables import losses
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, doubts_of, there
from pyscale.wording import listing, of_each, phase, ratio, score
from pyscale_stages.wording import plural


def section(results: Results) -> Section | None:
    """Tell of all grids of a run; None where there is none."""
    found = sweeps(results.every(GridFindings))
    if not found:
        return None
    points = {row["stage"] for sweep in found for row in sweep.points}
    processes = [one for one in curves(results.configurations) if one.key["stage"] in points]
    titles = {_title(sweep) for sweep in found}
    told = [(sweep, _answers(sweep)) for sweep in found]
    calls = dict.fromkeys(f"Time of a call: {sweep.call}." for sweep in found)
    return Section(
        kind="grid",
        nav=(title := titles.pop() if len(titles) == 1 else "By size"),
        title=title,
        heading="How it scales",
        subject="how it scales",
        ran="; ".join(map(_ran, found)),
        answered=tuple(
            Answered.of(
                sweep.name,
                (one for one in own if one.answers != "published"),
                trust_in_sweep(sweep),
            )
            for sweep, own in told
        ),
        blocks=(
            Block(
                tables=there(
                    tables.by_size(found), tables.call_parts(found), tables.agreement(found)
                ),
                note=" ".join(calls),
            ),
            *(
                Block(heading=sweep.name, said=said)
                for sweep, own in told
                if (said := tuple(one.text for one in own if one.answers == "published"))
            ),
            Block(
                heading="Whole processes, from start to end",
                tables=there(tables.processes(processes), losses(processes, results)),
                is_folded=True,
                is_on_page_alone=True,
            ),
        ),
        short=there(tables.short(found)),
        narrow=4,
        figures=("sizeratio", "sizetime", "callparts"),
        scales=("log", "linear"),
        doubts=tuple(doubts_of(_points(found), _places, "every point")),
    )


def _points(found: Sequence[Sweep]) -> list[Row]:
    rows = []
    for sweep in found:
        for row in sweep.points:
            name = point_name(row)
            is_known = len(found) == 1 or name.startswith(sweep.name)
            place = name if is_known else f"{sweep.name}, {name}"
            rows.append({"place": place, "flags": codes(row)})
    return rows


def _places(rows: Sequence[Row]) -> Iterator[str]:
    return (row["place"] for row in rows)


def _title(sweep: Sweep) -> str:
    """Name the values that a sweep compares, like "CPU against GPU, by size"."""
    values = [line.value for line in sweep.lines if line.value]
    if sweep.grid.versus == DEVICE:
        kinds = {row["device"] for row in sweep.points}
        values = ["CPU"] * ("cpu" in kinds) + ["GPU"] * bool(kinds - {"cpu"})
    elif len(values) < 2:
        return "By size"
    return f"{' against '.join(filter(None, (values[0], listing(values[1:]))))}, by size"


def _ran(sweep: Sweep) -> str:
    sizes = sorted({row["length_px"] for row in sweep.points if row["length_px"] is not None})
    over = f" ({' to '.join(f'{length:.0f}' for length in ends(sizes))} px)" if sizes else ""
    lines = listing(line.name for line in sweep.lines if line.name != sweep.name)
    return (
        f"{sweep.name} at {plural(len(sizes), 'size')}{over}{f' on {lines}' if lines else ''}, "
        f"{of_each(row['trials'] for row in sweep.points)}"
    )


def trust_in_sweep(sweep: Sweep) -> Trusted:
    """Judge a sweep by its points, and by what was set beside what."""
    measure = f"{sweep.measure}_s"
    scores = {line.name: [row["beside_ap_iou50"] for row in line.points] for line in sweep.compared}
    known = {one for own in scores.values() for one in own} - {None}
    return judged(
        [
            Basis(point_name(row), codes(row), row["trials"] if row[measure] is not None else 0)
            for row in sweep.points
        ],
        what="points",
        compared=bool(scores) and all(None not in own for own in scores.values()),
        none_timed="no call was timed",
        # A point that did other work has no ratio.
        indecisive=INVALIDATING,
        notes=_outputs(scores) if known else (),
    )


def _outputs(scores: Mapping[str, Sequence[float | None]]) -> Iterator[str]:
    """Tell how far the outputs of each line agree with those of its base, where it has one."""
    for name, own in scores.items():
        known = [one for one in own if one is not None]
        if not known:
            yield f"outputs of {name} not compared"
            continue
        above = "" if min(known) == 1 else " or more"
        part = "" if len(known) == len(own) else f" at {len(known)} of {len(own)} sizes"
        yield f"outputs of {name} agree by {score(min(known))}{above}{part} (AP at IoU 0.5)"


def _answers(sweep: Sweep) -> tuple[Answer, ...]:
    if not sweep.is_timed:
        return ()
    return answers(
        "grid",
        sweep=sweep,
        lacking=not_compared(sweep),
        helped=_helped,
        the=the,
        size=size,
        flattens=flattens,
    )


def _helped(point: Row) -> list[str]:
    """Parts of a call that are sped up, with their ratios, the longest on the base first."""
    return [
        f"{phase(row['part'])} {ratio(row['part_ratio'])}"
        for row in sorted(point["parts"], key=lambda row: -(row["base_s"] or 0.0))
        if row["part"] not in (*point["unaided"]["parts"], UNATTRIBUTED)
        and row["part_ratio"] is not None
    ]


def not_compared(sweep: Sweep) -> str | None:
    """State why there is no ratio, and how to get one; None where nothing is to be compared."""
    versus = sweep.grid.versus
    if versus is None or sweep.compared:
        return None
    values = list(dict.fromkeys(named(line.value) for line in sweep.lines if line.value))
    only = listing(values)
    if len(values) > 1:
        return f"No ratio of {only}: no size has timed calls of both."
    if versus != DEVICE:
        return f"Only {only} was measured: a ratio needs another value of {versus}."
    # A table does not name its command.
    command = "a table with the times of both devices of a machine"
    if not sweep.is_table:
        lengths = [json.loads(row["point"]).get("length_px") for row in sweep.points]
        sizes = ",".join(dict.fromkeys(str(one) for one in lengths if one is not None))
        these = f" --grid length_px={sizes}" if sizes else ""
        command = f"`pyscale run {sweep.points[0]['suite']}{these} --device cpu,cuda`"
    on_cpu = {row["device"] for row in sweep.points} == {"cpu"}
    other = "a GPU" if on_cpu else "the CPU"
    return f"Only the {only} was measured. To compare with {other}, use {command}."
