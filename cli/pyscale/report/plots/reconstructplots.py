"""The plots of a reconstruction over ranks: what each component gains, and what it takes."""

from __future__ import annotations

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.plots.plot import Along, Plot, Value, told_by
from pyscale.report.plots.reconstructrows import DRAWN, share_rows, speedup_rows
from pyscale.report.plots.stack import Amount, Stack
from pyscale.report.ranks.images import NAMES
from pyscale.report.results import Results

KNOWN = [NAMES[name] for name in DRAWN]
ABSENT = "components: it needs a run of the stage reconstruct of which a trial counts"


def components(results: Results) -> Plot:
    """Speedup of each component over ranks, beside the ideal."""
    rows = speedup_rows(results)
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
            "Bars: 95 % intervals by bootstrap; none where fewer than "
            f"{repeats_needed()} trials were timed.",
        ],
        printed=list(results.context.timed),
        told=told_by(
            [row for row in rows if row["workers"] == most[row["curve"]]],
            "curve",
            lambda row: f"{row['line']} {row['speed']} at N = {row['workers']}",
        ),
        absent=ABSENT,
        ideal="ideal",
        aside="aside",
    )


def component_shares(results: Results) -> Stack:
    """Shares of the time of all ranks in iterations."""
    share = Amount(column="share", title="Share of ranks' time")
    return Stack(
        id="componentshares",
        title="What an iteration consists of",
        dataset="reconstruct_shares",
        rows=share_rows(results),
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
