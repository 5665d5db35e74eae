"""The colours of every figure, in print and on the page: told apart without colour vision.

They are Okabe and Ito's, and shades of them; phases of one kind share a hue and differ in
lightness, so that stacked bars can be read in grey.
"""

from __future__ import annotations

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
