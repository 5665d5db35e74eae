"""The figure of loading patches: diversity against patches a second, and the front."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import palette
from pyscale.report.charts.loaderrows import Row, labels_mean, lines_of, panels_of, pareto_rows
from pyscale.report.figures.dots import Looks
from pyscale.report.figures.house import (
    IDEAL_LINE,
    SMALL_POINTS,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.results import Results

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import ggplot

COLUMNS = (
    *("effective_slides", "rate", "rate_low", "rate_high", "line", "label", "front", "consumed"),
)
HIGH_MM = 60
"""Height of a panel, so that labels of neighbours have room."""
LABEL_SHARE = 0.2
"""Of the axis, beyond the most diverse configuration: room for its label."""


def loader_pareto(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw every configuration of a loader by its diversity and by what it delivers.

    Parameters
    ----------
    results : Results
        With loading of patches.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no patches were loaded, or none said from which slide it is.
    """
    from plotnine import (
        aes,
        expand_limits,
        geom_errorbar,
        geom_hline,
        geom_point,
        geom_step,
        geom_text,
        labs,
        scale_x_continuous,
    )

    rows = pareto_rows(results)
    if not rows:
        raise NothingToDrawError(
            f"there is no figure of diversity against speed in {results.context.title}: it needs "
            "a run of the stage loader whose patches say from which slide they are"
        )
    panels = panels_of(rows)
    sheet = Sheet(len(panels), width_mm, HIGH_MM)
    titles = {panel: sheet.title(panel) for panel in panels}
    table = in_panels(
        COLUMNS, [row | {"panel": titles[row["curve"]]} for row in rows], list(titles.values())
    )
    looks = Looks.of(rows, "line", lines_of(rows))
    told = (*_sentences(results, rows), *results.context.timed)
    front = table[table["front"].astype(bool)].sort_values("effective_slides")
    consumed = table.dropna(subset=["consumed"]).drop_duplicates(["panel", "consumed"])
    plot: ggplot = (
        figure(sheet, list(titles.values()), *told, scales="free", legend=looks.legend)
        + drawn(
            geom_hline(aes(yintercept="consumed"), consumed, **IDEAL_LINE),
            geom_step(
                aes("effective_slides", "rate"),
                _joined(front),
                direction="vh",
                size=0.5,
                color=palette.SINGLE,
            ),
            geom_errorbar(
                aes("effective_slides", ymin="rate_low", ymax="rate_high", color="line"),
                table.dropna(subset=["rate_low", "rate_high"]),
                size=0.5,
                width=0,
                show_legend=False,
            ),
            geom_point(
                aes("effective_slides", "rate", color="line", shape="line"), table, size=2.1
            ),
            geom_text(
                aes("effective_slides", "rate", label="label"),
                front[front["label"] != ""],
                size=SMALL_POINTS,
                ha="left",
                va="bottom",
                nudge_x=0.02 * float(table["effective_slides"].max()),
            ),
        )
        + looks.scales(sheet)
        + scale_x_continuous(expand=(0.03, 0, LABEL_SHARE, 0))
        + expand_limits(x=0, y=0)
        + labs(x="Effective slides of all ranks", y="Patches/s, all ranks in step")
    )
    return plot


def _joined(front: pd.DataFrame) -> pd.DataFrame:
    """Points of fronts that have more than one, which a line can join."""
    return front[front.duplicated("panel", keep=False)]


def _sentences(results: Results, rows: list[Row]) -> list[str]:
    told = [
        "Marks: medians over trials of the rate that all ranks reach in step. Stepped line: the "
        "front, beside which nothing that was measured is both faster and more diverse.",
        "Effective slides: as many of equal share would make 1,000 patches of a rank as diverse.",
        "Bars: 95 % intervals of the median by order statistics; none where fewer than "
        f"{repeats_needed()} trials were timed.",
    ]
    if any(row["consumed"] is not None for row in rows):
        told.append("Dashed: what training takes, of all ranks.")
    if meaning := labels_mean(results):
        told.append(meaning)
    return told
