"""The plots of a reconstruction over ranks: what each component gains, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.components import TOTAL
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.plots.plot import (
    BY_BOOTSTRAP,
    Along,
    Amount,
    Beside,
    Plot,
    Row,
    Stack,
    Value,
    each,
    ends_of,
    sure,
    told_by,
)
from pyscale.report.ranks.images import NAMES, images, milliseconds, timed
from pyscale.report.results import Results
from pyscale.wording import percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

DRAWN = (TOTAL, *COMPONENTS)
"""Components in the order of legends. What one rank does not do has a speedup over several."""
KNOWN = [NAMES[name] for name in DRAWN]
RANKS = Along("workers", "Ranks N")
ABSENT = "components: it needs a run of the stage reconstruct of which a trial counts"


def components(results: Results) -> Plot:
    """Speedup of each component over ranks, beside the ideal."""
    rows = [
        {
            "curve": image,
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
        for image, point, name, row in _each(results)
        if row["speedup"]
    ]
    # By image, then by component, then by N.
    curves = each(rows, "curve")
    rows.sort(key=lambda row: (curves.index(row["curve"]), KNOWN.index(row["line"])))
    most = {row["curve"]: row["workers"] for row in sorted(rows, key=lambda row: row["workers"])}
    # N over the fewest ranks, at every N of each image.
    counts = sorted({(row["curve"], row["workers"], row["base"]) for row in rows})
    ideal = [
        {"curve": curve, "title": "", "workers": workers, "speedup": workers / base}
        for curve, workers, base in counts
    ]
    return Plot(
        id="components",
        title="Speedup of each component over ranks",
        dataset="reconstruct_components",
        rows=rows,
        along=RANKS,
        value=Value("speedup", "Speedup over N0", scale="log2"),
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
            BY_BOOTSTRAP,
        ],
        printed=results.context.timed,
        told=told_by(
            [row for row in rows if row["workers"] == most[row["curve"]]],
            "curve",
            lambda row: f"{row['line']} {row['speed']} at N = {row['workers']}",
        ),
        absent=ABSENT,
        is_aside=True,
        beside=[Beside("ideal", "reconstruct_ideal", ideal)],
    )


def component_shares(results: Results) -> Stack:
    """Shares of the time of all ranks in iterations."""
    share = Amount("share", "Share of ranks' time")
    return Stack(
        id="componentshares",
        title="What an iteration consists of",
        dataset="reconstruct_shares",
        rows=[
            {
                "curve": image,
                "part": NAMES[name],
                "order": DRAWN.index(name),
                "workers": point["workers"],
                "share": row["share"],
                "shared": percent(row["share"]),
                "took": f"{milliseconds(row['seconds'])} ms",
            }
            for image, point, name, row in _each(results)
            if name in COMPONENTS and row["share"]
        ],
        along=RANKS,
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
        printed=results.context.timed,
        absent=ABSENT,
    )


def _each(results: Results) -> Iterator[tuple[str, Row, str, Row]]:
    """Each image by name, its points of which a trial counts, and components of those."""
    for found in results.every(ReconstructFindings):
        for point in timed(images(found)):
            for name in DRAWN:
                yield point["name"], point, name, point["components"][name]
