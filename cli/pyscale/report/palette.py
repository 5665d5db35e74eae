"""The colours of every figure, in print and on the page: told apart without colour vision.

They are Okabe and Ito's, and shades of them; phases of one kind share a hue and differ in
lightness, so that stacked bars can be read in grey.
"""

from __future__ import annotations

from typing import Any

SINGLE, IDEAL, INVALID, REFERENCE = "#8C8C8C", "#404040", "#D55E00", "#6A6A6A"
"""Of single trials, the ideal line, invalid configurations, and what was measured elsewhere."""

PARTS = {
    "compute": "#0072B2",
    "busy": "#0072B2",
    "queue": "#F5F5F5",
    "container_start": "#6E4200",
    "python_start": "#C27C00",
    "import": "#F2B12E",
    "model_load": "#F9DDA0",
    "read": "#00523B",
    "write": "#43C29A",
    "merge": "#B85C92",
    "unattributed": "#2B2B2B",
    "idle": "#D9D9D9",
}
"""Of the parts of worker-seconds, in the order in which bars stack them from the axis."""

CALL_PARTS = (
    *("#F2B12E", "#6E4200", "#0072B2", "#A6DCFF", "#00523B", "#43C29A"),
    *("#7D2E5E", "#E9A9CB", "#B04A00", "#F9DDA0", "#5C6670"),
)
"""Of the parts of a call, which stages name as they like: by the order in which bars stack them,
dark beside light. What no part covers has the colour of what no phase covers."""

CURVES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of curves that share a panel; the order is that of the pipeline. Shapes tell them apart too."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
"""Marks of these curves, in the words of Vega."""

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


def colour(name: str) -> str:
    """Name a colour of `COLOURS` as a CSS variable, so that a theme changes it without drawing."""
    return f"var(--chart-{name}, {COLOURS[name][0]})"


def colour_rows() -> list[dict[str, Any]]:
    """The dataset `colours`, of which charts.js makes the variables that `colour` names."""
    return [{"name": name, "light": pair[0], "dark": pair[1]} for name, pair in COLOURS.items()]
