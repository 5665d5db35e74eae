"""The house style of printed figures: sizes, letters and captions.

Type of 7 and 8 points at the widths of one and of two columns of a journal, captions that say what
the marks are, and marks that are told apart by shape or lightness wherever colours tell them apart.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import plotnine as p9

from pyscale.errors import UserError
from pyscale.report import palette
from pyscale.report.plots.plot import Plot, Stack, Width

SMALL_POINTS, POINTS, DPI, MM_PER_INCH = 7, 8, 300, 25.4
# A cross where all else is a dot: told apart without any colour.
INVALID: dict[str, Any] = {"color": palette.INVALID, "shape": "x", "size": 2.4, "stroke": 0.9}
IDEAL_LINE: dict[str, Any] = {"linetype": "dashed", "color": palette.IDEAL, "size": 0.5}

# Of the usual letters at the small size, with room for wide ones.
LETTER_MM = 1.42
LINE_MM = {SMALL_POINTS: 3.5, POINTS: 4.2}
# Without the title.
PANEL_MM: dict[Width, int] = {88: 38, 180: 50}
# The title of the x axis with its labels.
BELOW_MM = 10
# Around all; titles of several lines reach into it.
MARGIN_MM = 2.5
# What an entry of a legend takes beside its text, and the height of one.
KEY_MM, ENTRY_MM = 7, 4.5


class NothingToDrawError(UserError):
    """The results hold nothing of what a figure shows."""


@dataclass(frozen=True)
class Sheet:
    """How the panels of a figure lie on it."""

    panels: int
    width_mm: Width = 180
    panel_height_mm: float | None = None  # None is the height that suits the width
    beside_mm: float = 14  # of the labels of the y axis and its title beside each panel
    is_below: bool = False  # panels lie below each other, each as wide as the sheet

    @property
    def columns(self) -> int:
        """Panels beside each other."""
        if self.is_below:
            return 1
        if self.width_mm == 88 or self.panels in {2, 4}:
            return min(self.panels, 2)
        return min(self.panels, 3)

    @property
    def panel_width_mm(self) -> float:
        """Width of what lies inside the axes of one panel."""
        return self.width_mm / self.columns - self.beside_mm

    def legend_columns(self, labels: Sequence[str]) -> int:
        """Return how many entries of a legend below the panels fit beside each other."""
        each_mm = KEY_MM + LETTER_MM * max(map(len, labels))
        return max(1, int((self.width_mm - 2 * MARGIN_MM) / each_mm))

    def size_in(
        self, titles: Sequence[str], caption: str, legend: Sequence[str]
    ) -> tuple[float, float]:
        """Width and height in inches, with room for titles, the caption and a legend."""
        legend_rows = math.ceil(len(legend) / self.legend_columns(legend)) if legend else 0
        height_mm = (
            math.ceil(self.panels / self.columns)
            * (
                (self.panel_height_mm or PANEL_MM[self.width_mm])
                + LINE_MM[POINTS] * max(title.count("\n") + 1 for title in titles)
            )
            + BELOW_MM
            + 2 * MARGIN_MM
            + LINE_MM[SMALL_POINTS] * (caption.count("\n") + 1)
            + ENTRY_MM * legend_rows
        )
        return self.width_mm / MM_PER_INCH, height_mm / MM_PER_INCH

    def title(self, name: str, *details: str) -> str:
        """Name a panel; what would reach beyond it is broken, after an underscore if there is one.

        The width is that of the panel itself, and the letters are those of `POINTS`.
        """
        widest = int(self.panel_width_mm / (LETTER_MM * POINTS / SMALL_POINTS))
        return "\n".join(line for part in (name, *details) for line in _broken(part, widest))

    def titles(self, declared: Plot | Stack) -> dict[str, str]:
        """What stands above each panel, by its name."""
        return {name: self.title(*declared.headings.get(name, [name])) for name in declared.panels}

    def caption(self, *sentences: str) -> str:
        """Lay sentences out, each from a new line."""
        widest = int((self.width_mm - 2 * MARGIN_MM) / LETTER_MM)
        return "\n".join(line for said in sentences for line in textwrap.wrap(said, widest))


def figure(
    sheet: Sheet,
    titles: Sequence[str],
    *sentences: str,
    scales: Literal["fixed", "free_y", "free"] = "fixed",
    legend: Sequence[str] = (),
) -> p9.ggplot:
    """Begin a figure: panels by the column `panel`, the style, and a caption of these sentences.

    There must be room for `titles` above the panels, and for labels of a legend below them.
    """
    caption = sheet.caption(*sentences)
    small = p9.element_text(size=SMALL_POINTS)
    look = p9.theme_minimal(base_size=POINTS) + p9.theme(
        axis_text=small,
        axis_title=p9.element_text(size=POINTS),
        dpi=DPI,
        figure_size=sheet.size_in(titles, caption, legend),
        legend_box_spacing=0.01,
        legend_key_size=8,
        legend_position="bottom",
        legend_text=small,
        legend_title=p9.element_blank(),
        panel_grid_major=p9.element_line(color="#E3E3E3", size=0.4),
        panel_grid_minor=p9.element_blank(),
        panel_spacing=0.03,
        plot_caption=p9.element_text(size=SMALL_POINTS, ha="left", linespacing=1.4),
        plot_caption_position="plot",
        plot_margin=MARGIN_MM / sheet.width_mm,
        strip_text=p9.element_text(size=POINTS, ha="left", ma="left", va="bottom", linespacing=1.3),
    )
    panels = p9.facet_wrap("panel", ncol=sheet.columns, scales=scales)
    plot: p9.ggplot = p9.ggplot() + panels + p9.labs(caption=caption) + look
    return plot


def without_caption(plot: p9.ggplot) -> p9.ggplot:
    """Leave the caption out, and the room for it."""
    caption = plot.labels.caption
    if not caption:
        return plot
    width_in, height_in = plot.theme.getp("figure_size")
    lines_in = LINE_MM[SMALL_POINTS] * (caption.count("\n") + 1) / MM_PER_INCH
    bare: p9.ggplot = (
        plot + p9.labs(caption="") + p9.theme(figure_size=(width_in, height_in - lines_in))
    )
    return bare


def in_panels(
    columns: Sequence[str], rows: Sequence[dict[str, Any]], panels: Sequence[str]
) -> pd.DataFrame:
    """Shape rows for plotnine, with panels in this order; a panel may have none, and all may."""
    table = pd.DataFrame(rows, columns=["panel", *columns])
    ordered = pd.CategoricalDtype(list(panels))
    return table.assign(panel=table["panel"].astype(ordered))


def drawn(*layers: Any) -> Any:
    """Leave out layers without rows: they draw nothing, and yet take time."""
    return [layer for layer in layers if not layer.data.empty]


def _broken(text: str, widest: int) -> list[str]:
    """Break a line that is too long between words, or after what stands between parts of a name."""
    lines = [""]
    for piece in re.findall(r"[^\s_/-]*[\s_/-]*", text):
        if len(lines[-1]) + len(piece.rstrip()) > widest and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [cut for line in lines for cut in textwrap.wrap(line.rstrip(), widest)] or [""]
