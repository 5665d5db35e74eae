"""Charts of the machine: storage, readers, codecs, kernels, and node beside node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.machine.nodes import FAST, SLOW
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.machinerows import KINDS, lines_of
from pyscale.report.charts.points import Shown, finished, legend_of, tooltips
from pyscale.report.machine.words import MODES
from pyscale.report.wording import listing

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
STORAGE, READERS, CODEC_RATES, KERNELS, NODES = (
    *("machine_storage", "machine_readers", "machine_codecs", "machine_kernels"),
    "machine_nodes",
)
"""Names of the datasets."""
BARS = f"Bars: 95 % intervals; none where fewer than {repeats_needed()} trials timed a test."
LINE_PX, BESIDE_PX = 24, 40
LABEL_PX = 210
MODE_NAMES = (*MODES.values(), "written")


def storage(rows: Sequence[Row]) -> Chart | None:
    """Bandwidth of everything that one reader read or wrote; None where nothing was."""
    seen = {
        "what": "What",
        "state": "Page cache",
        "rated": "Bandwidth",
        "sure": "95 % interval",
        "random": "Reads",
        "timed": "Trials",
        "doubts": "Doubts",
    }
    return _dots(
        "machinestorage",
        "What one reader gets",
        rows,
        dataset=STORAGE,
        y="what",
        x=Shown("rate", "rate", "MB/s", "MB/s"),
        line=("mode", MODE_NAMES),
        seen=seen,
        panels=_panels(rows, "curve"),
        note=f"Medians over trials. {BARS} Warm reads come from this node's memory.",
        told=lambda row: f"{row['what']}, {row['mode']}: {row['rated']}",
    )


def kernels(rows: Sequence[Row]) -> Chart | None:
    """Time of every kernel on every device; None where none was timed."""
    seen = {
        "test": "Test",
        "device": "On",
        "took": "Time",
        "rated": "Rate",
        "shared": "Share of all",
        "bottleneck": "Likely bottleneck",
        "doubts": "Doubts",
    }
    return _dots(
        "machinekernels",
        "Time of compute kernels",
        rows,
        dataset=KERNELS,
        y="test",
        x=Shown("wall_s", "wall_s", "Seconds", "Seconds"),
        line=("device", list(dict.fromkeys(row["device"] for row in rows))),
        seen=seen,
        panels=[],
        note=f"Medians over trials, without first calls. {BARS}",
        told=lambda row: f"{row['test']} on {row['device']}: {row['took']}",
    )


def readers(rows: Sequence[Row]) -> Chart | None:
    """Bandwidth over the number of readers; None where there is one number alone."""
    return _over(
        "machinereaders",
        "Several readers at once",
        "Readers at once, each a process with a share of the files",
        rows,
        READERS,
    )


def codecs(rows: Sequence[Row]) -> Chart | None:
    """Decoding over the number of threads; None where nothing was decoded."""
    return _over("machinecodecs", "Decoding over threads", "Threads that decode", rows, CODEC_RATES)


def nodes(rows: Sequence[Row]) -> Chart | None:
    """Ratios of every node to the median of all, a line a node; None with one node."""
    import altair as alt

    if not rows:
        return None
    names = list(dict.fromkeys(row["curve"] for row in rows))
    kinds = [kind for kind in KINDS.values() if any(row["kind"] == kind for row in rows)]
    base = alt.Chart(alt.NamedData(name=NODES))
    x = alt.X(
        "ratio:Q",
        title=None,
        scale=alt.Scale(type="log", base=2, nice=False, padding=16),
        axis=alt.Axis(grid=True, tickCount=6, format="~g"),
    )
    seen = {"curve": "Node", "test": "Test", "told": "Of the median", "hardware": "Hardware"}
    own = {"x": x, "y": _labels("curve", names), "tooltip": tooltips(seen)}
    layers = [
        base.transform_aggregate(rows="count()")
        .mark_rule(color=colour("ideal"), **dashes())
        .encode(x=alt.datum(1)),
        base.mark_point(filled=True, size=60, opacity=0.8).encode(
            **own,
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=curve_colours(len(kinds))),
                legend=None,
            ),
            shape=alt.Shape(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=curve_shapes(len(kinds))),
                legend=None,
            ),
        ),
        base.transform_filter("datum.apart")
        .mark_point(filled=False, size=170, opacity=1, strokeWidth=1.5, color=colour("ink"))
        .encode(**own),
    ]
    note = (
        "Each mark a test: this node's rate over the median of all nodes (dashed). A ring says "
        f"that it stands apart: below {SLOW:g} or above {FAST:g}, with an interval that leaves 1 "
        "out."
    )
    apart = [f"{row['curve']} {row['told']} in {row['test']}" for row in rows if row["apart"]]
    shown = Shown("ratio", "ratio", "Of the median of all nodes", "Of the median of all nodes")
    return Chart(
        id="machinenodes",
        title="Node beside node",
        description=f"{note} {f'Apart: {listing(apart)}' if apart else 'None stands apart'}.",
        spec=_high(
            finished(
                alt.layer(*layers),
                shown,
                note,
                legend=legend_of(kinds, curve_colours(len(kinds)), curve_shapes(len(kinds))),
            ),
            len(names),
        ),
    )


def _dots(
    name: str,
    title: str,
    rows: Sequence[Row],
    *,
    dataset: str,
    y: str,
    x: Shown,
    line: tuple[str, Sequence[str]],
    seen: Mapping[str, str],
    panels: Sequence[str],
    note: str,
    told: Any,
) -> Chart | None:
    """Dots on a logarithmic axis, a line a row, told apart by colour and shape."""
    import altair as alt

    if not rows:
        return None
    column, known = line
    present = [one for one in known if any(row[column] == one for row in rows)]
    pairs = zip(curve_colours(len(known)), curve_shapes(len(known)), strict=True)
    looks = dict(zip(known, pairs, strict=True))
    names = list(dict.fromkeys(row[y] for row in rows))
    drawn = alt.Chart(alt.NamedData(name=dataset))
    if len(panels) > 1:
        drawn = drawn.transform_filter("datum.curve == panel")

    def at(end: str = "") -> alt.X:
        return alt.X(
            f"{x.absolute}{end}:Q",
            title=None,
            scale=alt.Scale(type="log", base=10, nice=False, padding=16),
            axis=alt.Axis(grid=True, tickCount=6, format="~g"),
        )

    several = list(panels) if len(panels) > 1 else []
    colours = alt.Scale(domain=present, range=[looks[one][0] for one in present])
    shapes = alt.Scale(domain=present, range=[looks[one][1] for one in present])
    tinted = alt.Color(f"{column}:N", title=None, scale=colours, legend=None)
    layers = [
        drawn.transform_filter(f"isValid(datum.{x.absolute}_low)")
        .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round")
        .encode(x=at("_low"), x2=f"{x.absolute}_high:Q", y=_labels(y, names), color=tinted),
        # Hollow: two GPUs of one kind lie upon each other.
        drawn.mark_point(filled=False, opacity=1, size=75, strokeWidth=2).encode(
            x=at(),
            y=_labels(y, names),
            color=tinted,
            shape=alt.Shape(f"{column}:N", title=None, scale=shapes, legend=None),
            tooltip=tooltips(seen),
        ),
    ]
    of_panels = {
        one: "; ".join(told(row) for row in rows if row["curve"] == one)
        for one in dict.fromkeys(row["curve"] for row in rows)
    }
    description = " ".join(f"{one}: {said}." for one, said in of_panels.items())
    return Chart(
        id=name,
        title=title,
        description=f"{note} {description}",
        spec=_high(
            finished(
                alt.layer(*layers),
                x,
                note,
                panels=several,
                wide=bool(several),
                legend=legend_of(present, *zip(*(looks[one] for one in present), strict=True))
                if len(present) > 1
                else None,
            ),
            len(names),
        ),
    )


def _over(
    name: str, title: str, axis_title: str, rows: Sequence[Row], dataset: str
) -> Chart | None:
    """Lines of rates over how many did it at once."""
    import altair as alt

    counts = sorted({row["at_once"] for row in rows})
    if len(counts) < 2:
        return None
    lines = lines_of(rows)
    panels = _panels(rows, "curve")
    drawn = alt.Chart(alt.NamedData(name=dataset))
    if panels:
        drawn = drawn.transform_filter("datum.curve == panel")
    x = alt.X(
        "at_once:Q",
        title=axis_title,
        scale=alt.Scale(type="log", base=2, domain=[counts[0] / 1.15, counts[-1] * 1.15]),
        axis=alt.Axis(values=counts, format="d", labelOverlap="greedy"),
    )

    def y(end: str = "") -> alt.Y:
        return alt.Y(
            f"rate{end}:Q",
            title=None,
            scale=alt.Scale(type="log", base=10, nice=False, padding=16),
            axis=alt.Axis(tickCount=6, format="~g"),
        )

    colours = alt.Scale(domain=lines, range=curve_colours(len(lines)))
    shapes = alt.Scale(domain=lines, range=curve_shapes(len(lines)))
    tinted = alt.Color("line:N", title=None, scale=colours, legend=None)
    seen = {
        "line": "What",
        "at_once": "At once",
        "rated": "Together",
        "sure": "95 % interval",
        "timed": "Trials",
        "doubts": "Doubts",
    }
    layers = [
        drawn.mark_line(strokeWidth=1.5).encode(x=x, y=y(), color=tinted),
        drawn.transform_filter("isValid(datum.rate_low)")
        .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round")
        .encode(x=x, y=y("_low"), y2="rate_high:Q", color=tinted),
        drawn.mark_point(filled=True, opacity=1, size=75).encode(
            x=x,
            y=y(),
            color=tinted,
            shape=alt.Shape("line:N", title=None, scale=shapes, legend=None),
            tooltip=tooltips(seen),
        ),
    ]
    note = f"Medians over trials, of all together. {BARS}"
    by_line: dict[str, list[str]] = {line: [] for line in lines}
    for row in rows:
        by_line[row["line"]].append(f"{row['rated']} by {row['at_once']}")
    told = " ".join(f"{line}: {listing(said)}." for line, said in by_line.items())
    return Chart(
        id=name,
        title=title,
        description=f"{note} {told}",
        spec=finished(
            alt.layer(*layers),
            Shown("rate", "rate", "MB/s", "MB/s"),
            note,
            panels=panels,
            legend=legend_of(lines, curve_colours(len(lines)), curve_shapes(len(lines)))
            if len(lines) > 1
            else None,
        ),
    )


def _panels(rows: Sequence[Row], column: str) -> list[str]:
    """Names of panels, where there are several."""
    names = list(dict.fromkeys(row[column] for row in rows))
    return names if len(names) > 1 else []


def _labels(column: str, names: Sequence[str]) -> alt.Y:
    """Return an axis of names from above, in this order."""
    import altair as alt

    axis = alt.Axis(grid=True, labelLimit=LABEL_PX, domain=False)
    return alt.Y(f"{column}:N", title=None, sort=list(names), axis=axis)


def _high(spec: dict[str, Any], count: int) -> dict[str, Any]:
    """Give each name its line."""
    return spec | {"height": BESIDE_PX + LINE_PX * count}
