"""The plot of loading patches: diversity against patches a second, and what is on the front."""

from __future__ import annotations

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.plots.loaderrows import labels_mean, lines_of, pareto_rows
from pyscale.report.plots.plot import Along, Plot, Value, told_by
from pyscale.report.results import Results


def pareto(results: Results) -> Plot:
    """Every configuration of a loader by its diversity and by what it delivers."""
    rows = pareto_rows(results)
    meaning = [told for told in [labels_mean(results)] if told]
    # Several panels of the page are too narrow for labels.
    is_labelled = len({row["curve"] for row in rows}) == 1
    has_level = any(row["consumed"] is not None for row in rows)
    return Plot(
        id="loaderpareto",
        title="Diversity against speed",
        dataset="loader_points",
        rows=rows,
        along=Along(
            column="effective_slides", title="Effective slides of all ranks", kind="linear"
        ),
        value=Value(column="rate", title="Patches/s, all ranks in step", scale="linear"),
        series="line",
        known=lines_of(rows),
        seen={
            "configuration": "Configuration",
            "line": "By",
            "curve": "Ranks",
            "rated": "Measured",
            "sure": "95 % interval",
            "diverse": "Diversity",
            "on_front": "On the front",
            "kept": "Keeps the diversity",
            "doubts": "Doubts",
        },
        sentences=[
            "Marks: medians over trials of the rate that all ranks reach in step. Stepped line: "
            "the front, beside which nothing that was measured is both faster and more diverse.",
            "Effective slides: as many of equal share would make 1,000 patches of a rank as "
            "diverse.",
            "Bars: 95 % intervals of the median by order statistics; none where fewer than "
            f"{repeats_needed()} trials were timed.",
            *(["Dashed: what training takes, of all ranks."] if has_level else []),
            *(meaning if is_labelled else []),
        ],
        printed=[*([] if is_labelled else meaning), *results.context.timed],
        told=told_by(
            [row for row in rows if row["front"]],
            "curve",
            lambda row: (
                f"on the front {row['configuration']} with {row['rated']} and {row['diverse']}"
            ),
        ),
        absent="diversity against speed: it needs a run of the stage loader whose patches say "
        "from which slide they are",
        level="consumed",
        front="front",
    )
