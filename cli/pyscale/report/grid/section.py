"""A grid: how much faster one device is than another, from which size on, how far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyscale.analysis.flags import INVALIDATING
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.analysis.trust import Basis, Trusted, judged
from pyscale.report.answered import answers
from pyscale.report.curves import Curve, curves
from pyscale.report.grid.sweep import (
    DEVICE,
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
from pyscale.report.page.values import (
    CALL_PARTS,
    CONFIGURATIONS,
    POINTS,
    RATIOS,
    Cell,
    Columns,
    Row,
    Table,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, doubts_of, there
from pyscale.wording import ABSENT, listing, of_each, percent, phase, ratio, score, seconds, titled
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
    sizes = by_size(found)
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
                tables=there(sizes, call_parts(found), agreement(found)),
                note=" ".join(calls),
            ),
            *(
                Block(heading=sweep.name, said=said)
                for sweep, own in told
                if (said := tuple(one.text for one in own if one.answers == "published"))
            ),
            Block(
                heading="Whole processes, from start to end",
                tables=there(whole_processes(processes), losses(processes, results)),
                is_folded=True,
                is_on_page_alone=True,
            ),
        ),
        short=there(sizes and sizes.in_short(LEFT_OUT)),
        narrow=4,
        figures=("sizeratio", "sizetime", "callparts"),
        scales=("log", "linear"),
        doubts=tuple(doubts_of(_flagged(found), _places, "every point")),
    )


def _flagged(found: Sequence[Sweep]) -> list[Row]:
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
    needed = f"another value of {versus}"
    if versus == DEVICE:
        needed = "times of both devices" if sweep.is_table else "`--device cpu,cuda`"
    return f"{only} alone was measured; a ratio needs {needed}."


LEFT_OUT = {"Trials", "Building the model (s)", "Device memory (GiB)", "Flags"}
"""Columns that a terminal has no room for."""
PUBLISHED = "Building the model and a call, mean +/- SD over calls"


def by_size(found: Sequence[Sweep]) -> Table | None:
    """Times, throughput and ratios of every point."""
    columns: Columns = [
        *_which(found),
        *POINTS.columns("trials", "steady_s", "throughput_mp_s"),
        RATIOS.column("ratio", _ratio),
        *POINTS.columns("first_s", "start_s"),
        POINTS.column("published_s", _published, means=PUBLISHED),
        *POINTS.columns("gpu_own_peak_bytes", "gpu_peak_bytes"),
        POINTS.column("flags", lambda row: (", ".join(codes(row)) or ABSENT,)),
        *POINTS.columns("warnings"),
    ]
    return laid_out("Every size", _points(found), columns, head="Stage")


def agreement(found: Sequence[Sweep]) -> Table | None:
    """How far outputs are those of what they are compared with, and how right they are."""
    columns: Columns = [
        *_which(found),
        *POINTS.columns("beside_ap_iou50", "beside_ap_iou90"),
        POINTS.column("objects", _objects),
        *POINTS.columns("beside_objects_base", "quality"),
    ]
    known = ("beside_ap_iou50", "quality")
    rows = (
        (name, row) for name, row in _points(found) if any(row[one] is not None for one in known)
    )
    return laid_out("Agreement of the outputs", rows, columns)


def call_parts(found: Sequence[Sweep]) -> Table | None:
    """Seconds and shares of the parts of a call, at every point."""
    parts = dict.fromkeys(
        row["part"] for one in found for point in one.points for row in point["parts"]
    )
    if not parts:
        return None
    columns: Columns = [*_which(found), *(numbers(phase(name), _part(name)) for name in parts)]
    return laid_out("Parts of a call (s), in brackets their share", _points(found), columns)


def whole_processes(found: Sequence[Curve]) -> Table | None:
    """Whole processes of every point, from start to end."""
    columns = CONFIGURATIONS.columns(
        *("workers", "repeats", "wall_s", "peak_rss_bytes", "cache_state", "flags")
    )
    rows = ((curve.name, row) for curve in found for row in curve.rows)
    return laid_out("Whole processes", rows, columns)


def _points(found: Sequence[Sweep]) -> Iterator[tuple[str, Row]]:
    return ((sweep.name, row | {"sweep": sweep}) for sweep in found for row in sweep.points)


def _which(found: Sequence[Sweep]) -> Columns:
    versus = {sweep.grid.versus for sweep in found}
    name = (versus.pop() or "point") if len(versus) == 1 else "point"
    return [
        *POINTS.columns("length_px"),
        words(titled(name), _line),
    ]


def _line(row: Row) -> str:
    return str(row["line"])


def _ratio(row: Row) -> Cell:
    found = row["ratio"]
    return (ABSENT,) if found is None else RATIOS.interval_cell(found, "ratio", ratio)


def _objects(row: Row) -> Cell:
    if row["objects"] is None:
        return (ABSENT,)
    doubted = " (doubted)" if row["result_doubted"] else ""
    return (POINTS.value(row, "objects", f"{row['objects']:.0f}{doubted}"),)


def _published(row: Row) -> Cell:
    """Write a mean with its standard deviation, which is not an interval, and its calls."""
    if row["published_s"] is None:
        return (ABSENT,)
    mean, sd = (POINTS.cell(row, column) for column in ("published_s", "published_sd_s"))
    return (*mean, " +/- ", *sd, " (", *POINTS.cell(row, "published_calls", str), " calls)")


def _part(name: str) -> Writer:
    def write(row: Row) -> Cell:
        found = next((one for one in row["parts"] if one["part"] == name), None)
        if found is None:
            return (ABSENT,)
        share = CALL_PARTS.cell(found, "share", percent)
        return (*CALL_PARTS.cell(found, "part_s", seconds), " (", *share, ")")

    return write
