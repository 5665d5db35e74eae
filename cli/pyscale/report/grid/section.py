"""A grid in words: how much faster one device is than another, from which size on, how far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pyscale.analysis.flags import INVALIDATING
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.analysis.trust import Trusted, graded, raised_by, refused
from pyscale.report.curves import curves
from pyscale.report.grid import tables
from pyscale.report.grid.sweep import (
    DEVICE,
    MEASURES,
    Line,
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
    where_it_ends,
    where_it_wins,
)
from pyscale.report.page.tables import losses
from pyscale.report.page.values import POINTS, RATIOS, Cell, cell_text
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, doubts_of, there
from pyscale.wording import (
    ABSENT,
    few,
    listing,
    number,
    of_each,
    percent,
    phase,
    ratio,
    score,
    titled,
)
from pyscale_stages.wording import plural

LONGEST_NAME = 12
"""Letters of a line's name that stand beside its answer; a longer one stands in it."""
MOST_PARTS = 3
"""More parts of a call are counted and not named."""
PARTS = "Parts of a call: medians; parts on the device end when the device has finished."


def section(results: Results) -> Section | None:
    """Tell of all grids of a run; None where there is none."""
    found = sweeps(results.every(GridFindings))
    if not found:
        return None
    points = {row["stage"] for sweep in found for row in sweep.points}
    own = [one for one in curves(results.configurations) if one.key["stage"] in points]
    titles = {_title(sweep) for sweep in found}
    parts = tables.call_parts(found)
    return Section(
        kind="grid",
        nav=(title := titles.pop() if len(titles) == 1 else "By size"),
        title=title,
        heading="How it scales",
        subject="how it scales",
        ran="; ".join(map(_ran, found)),
        answered=tuple(
            Answered.of(sweep.name, _answers(sweep), trust_in_sweep(sweep)) for sweep in found
        ),
        blocks=(
            Block(
                tables=there(tables.by_size(found), parts, tables.agreement(found)),
                note=" ".join(dict.fromkeys(_notes(found, has_parts=parts is not None))),
            ),
            *(
                Block(heading=sweep.name, said=said)
                for sweep in found
                if (said := tuple(_said(sweep)))
            ),
            Block(
                heading="Whole processes, from start to end",
                tables=there(tables.processes(own), losses(own, results)),
                is_folded=True,
                is_on_page_alone=True,
            ),
        ),
        short=there(tables.short(found)),
        narrow=4,
        note="",
        figures=("sizeratio", "sizetime", "callparts"),
        scales=("log", "linear"),
        doubts=tuple(_doubts(found)),
    )


def _doubts(found: Sequence[Sweep]) -> Iterator[str]:
    """Give the sentence of every flag once, with the points that raise it."""
    rows = []
    for sweep in found:
        for row in sweep.points:
            name = point_name(row)
            is_known = len(found) == 1 or name.startswith(sweep.name)
            place = name if is_known else f"{sweep.name}, {name}"
            rows.append({"place": place, "flags": codes(row)})
    yield from doubts_of(rows, lambda raised: (row["place"] for row in raised), "every point")


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


def _notes(found: Sequence[Sweep], *, has_parts: bool) -> Iterator[str]:
    for sweep in found:
        yield f"Time of a call: {sweep.call}."
    if any(sweep.compared for sweep in found):
        yield "Times as fast: the baseline's time over its own."
    if any(row["beside_ap_iou50"] is not None for sweep in found for row in sweep.points):
        yield "AP: average precision of one output against the other."
    if has_parts:
        yield PARTS


def trust_in_sweep(sweep: Sweep) -> Trusted:
    """Judge a sweep by the flags of its points, and by what was set beside what."""
    if not sweep.is_timed:
        return refused("no call was timed")
    rows = [(point_name(row), codes(row)) for row in sweep.points]
    timed = [row for row in sweep.points if row[f"{sweep.measure}_s"] is not None]
    fewest = min(row["trials"] for row in timed)
    scores = {line.name: [row["beside_ap_iou50"] for row in line.points] for line in sweep.compared}
    known = {one for own in scores.values() for one in own} - {None}
    return graded(
        # A point that did other work has no ratio.
        raised_by(rows, "points", all_of=len(rows), indecisive=INVALIDATING),
        trials=fewest,
        compared=bool(scores) and all(None not in own for own in scores.values()),
        notes=_outputs(scores) if known else (),
        in_favour=(f"{plural(fewest, 'trial')} of each",),
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


def _answers(sweep: Sweep) -> Iterator[Answer]:
    """Say how much faster, and what limits it; of one device alone, how fast."""
    if not sweep.is_timed:
        return
    for line in sweep.compared:
        is_long = len(line.name) > LONGEST_NAME
        head, rest = _gain(line, sweep.measure, f" on {line.name}" if is_long else "")
        yield Answer("Speedup" if is_long else line.name, "speedup", head, (*rest, "."))
    for line in sweep.compared:
        yield from _limit(sweep, line)
    if sweep.compared:
        return
    for line in sweep.lines:
        if timed := line.timed(sweep.measure):
            yield from _times(sweep, line, timed)
    if lacking := not_compared(sweep):
        yield Answer("Speedup", "speedup", ("Not known",), (": ", lacking))


def _gain(line: Line, measure: str, on: str = "") -> tuple[Cell, Cell]:
    """State the ratio at the largest size, where it begins to win, and where it ends."""
    row = line.ratios(measure)[-1]
    base, at = the(row["base"]), f"{size(row['length_px'])}{on}"
    point, *interval = RATIOS.interval_cell(row, "ratio", ratio)
    head: Cell = (point,)
    rest: Cell = (*interval, f" times as fast as {base} at {at}")
    if row["ratio_low"] is not None and row["ratio_low"] <= 1 <= row["ratio_high"]:
        head = ("Indistinguishable",)
        rest = (f" from {base} at {at} (ratio ", point, *interval, ")")
    more = [f" ({number(row['value_s'])} s instead of {number(row['base_s'])} s)"]
    if (win := line.wins.get(measure)) is not None:
        more.append(where_it_wins(win))
    if (ceiling := line.ceilings.get(measure)) is not None:
        more.append(flattens(ceiling))
    return head, (*rest, "; ".join(more))


def _limit(sweep: Sweep, line: Line) -> Iterator[Answer]:
    """Name the parts of a call that are not sped up at the largest size, and their bound."""
    point = line.timed(sweep.measure)[-1]
    if (found := point["unaided"]) is None:
        return
    at = f"a call at {size(point['length_px'])}"
    helped = [
        f"{phase(row['part'])} {ratio(row['part_ratio'])}"
        for row in sorted(point["parts"], key=lambda row: -(row["base_s"] or 0.0))
        if row["part"] not in (*found["parts"], UNATTRIBUTED) and row["part_ratio"] is not None
    ]
    sped_up = f"; sped up: {few(helped, MOST_PARTS)} times" if helped else ""
    if found["bound"] is None:
        yield Answer("Limit", "limit", ("No part",), (f" of {at} is as slow as before{sped_up}.",))
        return
    head = few(map(phase, found["parts"]), MOST_PARTS, "smaller ones")
    rest = (
        f", not sped up: {percent(found['share'])} of {at} ({number(found['unaided_s'])} of "
        f"{number(found['call_s'])} s), so that no more than {ratio(found['bound'])} times is "
        f"possible{sped_up}."
    )
    yield Answer("Limit", "limit", (titled(head),), (rest,))


def _times(sweep: Sweep, line: Line, timed: list[Row]) -> Iterator[Answer]:
    """State how long a call takes at the smallest and the largest size, and where it goes."""
    is_long = len(line.name) > LONGEST_NAME
    first, *largest = (
        (POINTS.cell(row, f"{sweep.measure}_s")[0], f" s at {size(row['length_px'])}")
        for row in ends(timed)
    )
    told = (first[1], *(part for one in largest for part in (" to ", *one)), " for a call")
    question = "Time" if is_long else line.name
    yield Answer(question, "time", first[:1], (*told, f" on {line.name}." if is_long else "."))
    rate, *rates = (POINTS.cell(row, "throughput_mp_s")[0] for row in ends(timed))
    told = (*(part for one in rates for part in (" to ", one)), " megapixels per second.")
    yield Answer("Speed", "throughput", (rate,), told)
    if parts := sorted(timed[-1]["parts"], key=lambda row: -row["share"])[:MOST_PARTS]:
        shares = listing(f"{phase(row['part'])} {percent(row['share'])}" for row in parts)
        at = f" of a call at {size(timed[-1]['length_px'])}."
        yield Answer("Mostly", "limit", (shares,), (at,))


def _said(sweep: Sweep) -> Iterator[str]:
    if not sweep.is_timed:
        yield "No timed call."
        return
    yield from (
        f"{one.name}: no timed call." for one in sweep.lines if not one.timed(sweep.measure)
    )
    for line in sweep.compared:
        if (ceiling := line.ceilings.get(sweep.measure)) is not None:
            yield f"{line.name}: {where_it_ends(ceiling)}"
        if line.ratios("published"):
            head, rest = _gain(line, "published")
            yield f"{line.name} in {MEASURES['published']}: {cell_text((*head, *rest))}."
    for line in sweep.lines:
        yield from _one_image(line)
    yield from _sharing(sweep)


def _one_image(line: Line) -> Iterator[str]:
    """State where a process for one image gains less than later calls, beyond chance."""
    alone, later = line.ratios("fresh"), line.ratios("steady")
    for one in ends(alone):
        other = next((row for row in later if row["length_px"] == one["length_px"]), None)
        if other is None or None in (one["ratio_high"], other["ratio_low"]):
            continue
        if one["ratio_high"] < other["ratio_low"]:
            gains = "loses time on" if one["ratio_high"] < 1 else "gains less from"
            yield (
                f"A process for a single image of {size(one['length_px'])} {gains} "
                f"{the(line.value)}: {MEASURES['fresh']} take {number(one['value_s'])} s, "
                f"{ratio(one['ratio'])} times as fast as on {the(line.base)}; a later call is "
                f"{ratio(other['ratio'])} times as fast."
            )


def _sharing(sweep: Sweep) -> Iterator[str]:
    """State the throughput of several workers over that of one, and what they shared."""
    for row in sweep.of(sweep.grid.sharing):
        if row["invalid"]:
            continue
        low, high = ratio(row["gain_low"]), ratio(row["gain_high"])
        interval = "no 95 % interval" if low == ABSENT else f"95 % interval {low} to {high}"
        shared = ""
        if row["oversubscribed"]:
            lacks = "cores" if row["device"] == "cpu" else "GPUs or cores"
            shared = f", with too few {lacks} for each to have its own"
        yield (
            f"{row['workers']} workers on {named(row['value']) or sweep.name} at "
            f"{size(row['length_px'])}{shared}: {number(row['throughput_mp_s'])} "
            f"megapixels/s together, {number(row['one_mp_s'])} alone, {ratio(row['gain'])} times "
            f"as much ({interval})."
        )


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
