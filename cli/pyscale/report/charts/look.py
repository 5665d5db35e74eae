"""How all charts of the page look, in a light and in a dark theme."""

from __future__ import annotations

from typing import Any

from pyscale.report.palette import (
    CALL_PARTS,
    CURVES,
    IDEAL,
    INVALID,
    PARTS,
    REFERENCE,
    SINGLE,
)

_DARK_CURVES = ("#3D9BDB", "#E8681A", "#1FBF91", "#DB8FBA", "#E69F00", "#A6DCFF", "#F2F2F2")
_DARK_PARTS = PARTS | {
    "compute": "#2F8FD0",
    "busy": "#2F8FD0",
    "queue": "#24282D",
    "container_start": "#8F5A0A",
    "python_start": "#C07F14",
    "read": "#0B8F68",
    "unattributed": "#8C8C8C",
    "idle": "#3A4047",
}
_DARK_CALL_PARTS = (
    *("#F2B12E", "#8F5A0A", "#2F8FD0", "#A6DCFF", "#0B8F68", "#7BE3C3"),
    *("#A8447F", "#E9A9CB", "#D2641A", "#F9DDA0", "#5C6670"),
)
COLOURS = {
    "ink": ("#1F2328", "#E6E8EB"),
    "quiet": ("#57606A", "#A7AFB8"),
    "grid": ("#E6E8EB", "#2E343B"),
    "edge": ("#FFFFFF", "#14171A"),
    "ideal": (IDEAL, "#B8BEC5"),
    "single": (SINGLE, "#8C949D"),
    "reference": (REFERENCE, "#A0A7AF"),
    "invalid": (INVALID, "#FF7A33"),
    **{f"curve-{place}": pair for place, pair in enumerate(zip(CURVES, _DARK_CURVES, strict=True))},
    **{f"part-{part}": (PARTS[part], _DARK_PARTS[part]) for part in PARTS},
    **{
        f"call-{place}": p for place, p in enumerate(zip(CALL_PARTS, _DARK_CALL_PARTS, strict=True))
    },
}
"""Colour of everything on light and on dark ground."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
TEXT_PX = 12


def colour(name: str) -> str:
    """Name a colour of `COLOURS` as a CSS variable, so that a theme changes it without drawing."""
    return f"var(--chart-{name}, {COLOURS[name][0]})"


def colour_rows() -> list[dict[str, Any]]:
    """The dataset `colours`, of which charts.js makes the variables that `colour` names."""
    return [{"name": name, "light": pair[0], "dark": pair[1]} for name, pair in COLOURS.items()]


def curve_colours(count: int) -> list[str]:
    """Colours of so many curves, in order; they begin again where there are more than colours."""
    return [colour(f"curve-{place % len(CURVES)}") for place in range(count)]


def config() -> dict[str, Any]:
    """What Vega-Lite is told of every chart."""
    text = {"font": FONT, "fontSize": TEXT_PX}
    label = {"labelFont": FONT, "labelFontSize": TEXT_PX, "labelColor": colour("quiet")}
    title = {"titleFont": FONT, "titleFontSize": TEXT_PX, "titleColor": colour("ink")}
    return {
        "background": "transparent",
        "font": FONT,
        "aria": False,  # the figure is described as a whole, and its numbers stand in tables
        "view": {"stroke": None},
        "axis": {
            **label,
            **title,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domain": False,
            "grid": True,
            "gridColor": colour("grid"),
            "tickColor": colour("grid"),
            "labelPadding": 6,
        },
        "axisX": {"grid": False, "domain": True, "domainColor": colour("quiet"), "ticks": False},
        "axisY": {"ticks": False},
        "legend": {
            **label,
            **title,
            "labelColor": colour("ink"),
            "labelLimit": 240,
            "symbolSize": 80,
        },
        "title": {
            **text,
            "anchor": "start",
            "frame": "group",
            "fontWeight": "normal",
            "color": colour("ink"),
            "offset": 12,
        },
    }


def cross(**place: Any) -> dict[str, Any]:
    """Mark of an invalid configuration."""
    path = "M-1,-1L1,1M1,-1L-1,1"
    line = {"stroke": colour("invalid"), "strokeWidth": 2.5, "opacity": 1}
    return {"shape": path, "size": 65, **line, **place}


def dashes() -> dict[str, Any]:
    """Line of what would be ideal."""
    return {"strokeDash": [5, 4], "strokeWidth": 1.3}
