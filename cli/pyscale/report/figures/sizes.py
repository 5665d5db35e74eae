"""Lines over the size of an image, which the figures of times and of ratios share."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import palette
from pyscale.report.charts.gridrows import (
    ceiling_rows,
    elsewhere_rows,
    elsewhere_told,
    line_names,
    point_rows,
    ratio_rows,
)
from pyscale.report.figures.axes import log_breaks, thinned, tick_labels
from pyscale.report.figures.house import (
    IDEAL_LINE,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    in_panels,
)
from pyscale.report.grid.sweep import Sweep, sweeps
from pyscale.report.grid.words import Row, ends
from pyscale.report.results import Results
from pyscale.report.wording import listing, number

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import scale_x_log10

MARKS = ("o", "s", "^", "D", "P", "v", "X")
"""Of lines, with the colours of `palette.CURVES`."""
DASHES = ("dashed", "dotted", "dashdot", (0, (6, 1.5)), (0, (1, 3)), (0, (6, 2, 1, 2, 1, 2)))
"""Of lines of other machines."""
PANEL_MM = 72
NO_INTERVAL = f"fewer than {repeats_needed()} trials have none"


@dataclass(frozen=True)
class Sizes:
    """The sweeps of a figure, each in a panel of its own."""

    found: list[Sweep]
    sheet: Sheet
    rows: list[Row]
    elsewhere: list[Row]

    @classmethod
    def of(cls, results: Results, width_mm: Width, column: str) -> Sizes:
        """Take the sweeps of which this column of the charts' rows is known."""
        every = sweeps(results.grids)
        rows = ratio_rows(every) if column == "ratio" else point_rows(every)
        found = [one for one in every if any(row["curve"] == one.name for row in rows)]
        if not found:
            what = "ratio over sizes" if column == "ratio" else "time over sizes"
            raise NothingToDrawError(
                f"there is no figure of {results.context.title}: it has no {what}"
            )
        others = elsewhere_rows(found, results.grid_references)
        return cls(
            found,
            Sheet(len(found), width_mm, PANEL_MM if len(found) == 1 else None),
            rows,
            [row for row in others if row[column] is not None],
        )

    @property
    def titles(self) -> list[str]:
        """Texts above the panels."""
        return [self.panel(sweep.name) for sweep in self.found]

    def panel(self, name: str) -> str:
        """Text above a panel: its sweep, and the times of what is compared with."""
        sweep = next(one for one in self.found if one.name == name)
        base = next((line for line in sweep.lines if line.base is None), sweep.lines[0])
        timed = base.timed(sweep.measure)
        if not timed:
            return self.sheet.title(sweep.name)
        told = listing(
            f"{number(row[f'{sweep.measure}_s'])} s at {row['length_px']:.0f} px"
            for row in ends(timed)
        )
        return self.sheet.title(sweep.name, f"{base.name}: {told}")

    @property
    def lines(self) -> list[str]:
        """Names of the lines that are drawn."""
        return list(dict.fromkeys(row["line"] for row in self.rows))

    @property
    def colours(self) -> dict[str, str]:
        """Colour of every line of any sweep."""
        names = line_names(self.found)
        return {name: palette.CURVES[i % len(palette.CURVES)] for i, name in enumerate(names)}

    @property
    def other_lines(self) -> list[str]:
        """Names of the lines of other machines."""
        return list(dict.fromkeys(row["line"] for row in self.elsewhere))

    @property
    def legend(self) -> list[str]:
        """Entries that need room below the panels: each kind of line begins a row."""
        kinds = [names for names in (self.lines, self.other_lines) if names]
        rows = sum(map(self.sheet.legend_rows, kinds))
        longest = max((name for names in kinds for name in names), key=len)
        return [longest] * (self.sheet.legend_columns([longest]) * (rows - 1) + 1)

    def table(self, columns: list[str], rows: list[Row]) -> pd.DataFrame:
        """Rows for plotnine, with panels in the order of the sweeps; there may be none."""
        own = [row | {"panel": self.panel(row["curve"])} for row in rows]
        return in_panels(columns, own, self.titles)

    def marks(self, column: str) -> Any:
        """Lines through points with their intervals, and a colour and a shape for each."""
        from plotnine import aes, geom_errorbar, geom_line, geom_point

        ends = [f"{column}_low", f"{column}_high"]
        table = self.table(["length_px", "line", column, *ends], self.rows)
        return drawn(
            geom_line(aes("length_px", column, color="line"), _joined(table), size=0.5),
            geom_errorbar(
                aes("length_px", ymin=ends[0], ymax=ends[1], color="line"),
                table.dropna(subset=ends),
                size=0.5,
                width=0.02,
                show_legend=False,
            ),
            geom_point(aes("length_px", column, color="line", shape="line"), table, size=1.9),
        )

    def bars(self, column: str, interval: str) -> list[str]:
        """Caption of the bars, where any is drawn; `interval` says what they are."""
        drawn_bars = any(row[f"{column}_low"] is not None for row in self.rows)
        return [f"Bars: {interval} ({NO_INTERVAL})."] if drawn_bars else []

    def others(self, column: str) -> Any:
        """Grey broken lines of other machines, told apart by their dashes."""
        from plotnine import aes, geom_line

        table = self.table(["length_px", "line", column], self.elsewhere)
        grey: dict[str, Any] = {"color": palette.REFERENCE, "size": 0.45}
        mapping = aes("length_px", column, linetype="line")
        return drawn(geom_line(mapping, _joined(table), **grey))

    def ceilings(self) -> Any:
        """What ratios flatten at, as lines with bands, and a dashed line where both are as fast."""
        from plotnine import aes, geom_hline, geom_rect, geom_segment

        names = ["from_px", "to_px", "ceiling", "low", "high", "line"]
        table = self.table(names, ceiling_rows(self.found))
        return [
            geom_hline(yintercept=1, **IDEAL_LINE),
            *drawn(
                # A scale of fills would take the colours out of the legend.
                *(
                    geom_rect(
                        aes(xmin="from_px", xmax="to_px", ymin="low", ymax="high"),
                        table[table["line"] == name],
                        fill=colour,
                        alpha=0.2,
                    )
                    for name, colour in self.colours.items()
                ),
                geom_segment(
                    aes("from_px", "ceiling", xend="to_px", yend="ceiling", color="line"),
                    table,
                    size=0.5,
                    show_legend=False,
                ),
            ),
        ]

    def looks(self) -> list[Any]:
        """Colours and shapes of the lines, the same in both figures."""
        from plotnine import (
            guide_legend,
            scale_color_manual,
            scale_linetype_manual,
            scale_shape_manual,
            theme,
        )

        names = line_names(self.found)
        shapes = {
            name: MARKS[(i + i // len(palette.CURVES)) % len(MARKS)] for i, name in enumerate(names)
        }

        def guide(lines: list[str]) -> Any:
            # One a scale: a shared one would lose what it was given first.
            return guide_legend(ncol=self.sheet.legend_columns(lines), byrow=True)

        others = self.other_lines
        dashes = [DASHES[place % len(DASHES)] for place in range(len(others))]
        broken = scale_linetype_manual(dashes, limits=others, guide=guide(others or self.lines))
        return [
            *([broken] if others else []),
            scale_color_manual(
                [self.colours[name] for name in self.lines],
                limits=self.lines,
                guide=guide(self.lines),
            ),
            scale_shape_manual(
                [shapes[name] for name in self.lines], limits=self.lines, guide=guide(self.lines)
            ),
            # Kinds of lines below each other: beside each other they would need more room.
            theme(legend_box="vertical", legend_box_just="center"),
        ]

    def axis(self) -> scale_x_log10:
        """Return the axis of sizes, logarithmic, with a tick at each that was measured."""
        from plotnine import scale_x_log10

        lengths = sorted({row["length_px"] for row in self.rows})
        told = [f"{length:.0f}" for length in lengths]
        ticks: Any = lengths
        labels: Any = thinned(told, [math.log10(length) for length in lengths], self.sheet)
        if len(lengths) < 2:
            ticks, labels = log_breaks, tick_labels
        return scale_x_log10(
            name="Side of the image (px)",
            breaks=ticks,
            minor_breaks=[],
            labels=labels,
            expand=(0.06, 0),
        )

    @property
    def sentences(self) -> list[str]:
        """What a caption says of other machines."""
        return [elsewhere_told(self.elsewhere)] if self.elsewhere else []


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of lines with two points or more: plotnine warns of one that joins nothing."""
    return table[table.duplicated(["panel", "line"], keep=False)]
