"""The plots of a reconstruction over ranks: what each component gains, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.components import TOTAL
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.plots.plot import (
    NO_BARS,
    Along,
    Beside,
    Plot,
    Row,
    Value,
    ends_of,
    sure,
    told_by,
)
from pyscale.report.plots.stack import Amount, Stack
from pyscale.report.ranks.images import NAMES, Images, milliseconds
from pyscale.report.results import Results
from pyscale.report.wording import percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

DRAWN = (TOTAL, *COMPONENTS)
"""Components in the order of legends. What one rank does not do has a speedup over several."""
KNOWN = [NAMES[name] for name in DRAWN]
ABSENT = "components: it needs a run of the stage reconstruct of which a trial counts"


def components(results: Results) -> Plot:
    """Speedup of each component over ranks, beside the ideal."""
    rows = _speedup_rows(results)
    most = {row["curve"]: row["workers"] for row in sorted(rows, key=lambda row: row["workers"])}
    return Plot(
        id="components",
        title="Speedup of each component over ranks",
        dataset="reconstruct_components",
        rows=rows,
        along=Along(column="workers", title="Ranks N"),
        value=Value(column="speedup", title="Speedup over N0", scale="log2"),
        series="line",
        known=KNOWN,
        seen={
            "curve": "Reconstruction",
            "line": "Component",
            "workers": "Ranks N",
            "speed": "Speedup",
            "sure": "95 % interval",
            "efficient": "Efficiency",
            "normalised": "Work-normalised",
            "took": "Takes",
            "shared": "Of the ranks' time",
            "doubts": "Doubts",
        },
        sentences=[
            "Marks: ratios of median times of the slowest rank, side by side at each N; dashed: "
            "ideal. N0 are the fewest ranks that ran; what one rank alone does not do has no "
            "speedup over it.",
            f"Bars: 95 % intervals by bootstrap; {NO_BARS}",
        ],
        printed=list(results.context.timed),
        told=told_by(
            [row for row in rows if row["workers"] == most[row["curve"]]],
            "curve",
            lambda row: f"{row['line']} {row['speed']} at N = {row['workers']}",
        ),
        absent=ABSENT,
        is_aside=True,
        beside=[Beside(kind="ideal", dataset="reconstruct_ideal", rows=_ideal_rows(rows))],
    )


def component_shares(results: Results) -> Stack:
    """Shares of the time of all ranks in iterations."""
    share = Amount(column="share", title="Share of ranks' time")
    return Stack(
        id="componentshares",
        title="What an iteration consists of",
        dataset="reconstruct_shares",
        rows=_share_rows(results),
        along="workers",
        along_title="Ranks N",
        at="N = {}",
        absolute=share,
        relative=share,
        prints="relative",
        parts={name: f"curve-{place}" for place, name in enumerate(KNOWN)},
        seen={
            "curve": "Reconstruction",
            "part": "Component",
            "workers": "Ranks N",
            "took": "Takes",
            "shared": "Of the ranks' time",
        },
        sentences=[
            "Stacked from the axis in the order of the legend: shares of the time of all ranks in "
            "iterations; what is missing up to the whole is in no component."
        ],
        printed=list(results.context.timed),
        absent=ABSENT,
    )


def _speedup_rows(results: Results) -> list[Row]:
    """Speedup of every component that has one, the baselines too."""
    found = results.of(ReconstructFindings)
    if found is None:
        return []
    images = Images.of(found)
    return [row for stage in images.names for row in _of_entry(images, stage)]


def _of_entry(images: Images, stage: str) -> Iterator[Row]:
    timed = [point for point in images.timed if point["stage"] == stage]
    found = {
        name: [(point, row) for point in timed if (row := images.component(point, name))["speedup"]]
        for name in DRAWN
    }
    for name, own in found.items():
        for point, row in own:
            yield {
                "curve": images.names[stage],
                "line": NAMES[name],
                "workers": point["workers"],
                "base": point["baseline_workers"],
                **ends_of("speedup", row),
                "speed": f"{ratio(row['speedup'])} times",
                "sure": sure(row, "speedup", ratio, ""),
                "efficient": ratio(row["efficiency"]),
                "normalised": ratio(row["normalised_efficiency"]),
                "took": f"{milliseconds(row['seconds'])} ms",
                "shared": percent(row["share"]),
                "doubts": ", ".join(flags_of(row)) or "none",
            }


def _ideal_rows(rows: list[Row]) -> list[Row]:
    """N over the fewest ranks, at every N of each image."""
    counts = dict.fromkeys((row["curve"], row["workers"], row["base"]) for row in rows)
    return [
        {"curve": curve, "title": "", "workers": workers, "speedup": workers / base}
        for curve, workers, base in sorted(counts)
    ]


def _share_rows(results: Results) -> list[Row]:
    """Share of every component of an iteration, in the order in which bars stack them."""
    found = results.of(ReconstructFindings)
    if found is None:
        return []
    images = Images.of(found)
    return [
        {
            "curve": images.names[point["stage"]],
            "part": NAMES[name],
            "order": DRAWN.index(name),
            "workers": point["workers"],
            "share": row["share"],
            "shared": percent(row["share"]),
            "took": f"{milliseconds(row['seconds'])} ms",
        }
        for point in images.timed
        for name in COMPONENTS
        if (row := images.component(point, name))["share"]
    ]
