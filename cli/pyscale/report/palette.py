"""The colours of every figure, in print and on the page, from `palette.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

_GROUPS = tomllib.loads((files("pyscale.report") / "palette.toml").read_text("utf-8"))
COLOURS: dict[str, tuple[str, str]] = {
    name if group == "shared" else f"{group}-{name}": tuple(pair)
    for group, pairs in _GROUPS.items()
    for name, pair in pairs.items()
}
"""Colour of everything on light and on dark ground."""
SINGLE, IDEAL, INVALID = (COLOURS[name][0] for name in ("single", "ideal", "invalid"))
PARTS: dict[str, str] = {name: light for name, (light, _) in _GROUPS["part"].items()}
CALL_PARTS, CURVES = ([light for light, _ in _GROUPS[name].values()] for name in ("call", "curve"))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
"""Marks of curves that share a panel, in the words of Vega."""


def colour(name: str) -> str:
    """Name a colour of `COLOURS` as a CSS variable, so that a theme changes it without drawing."""
    return f"var(--chart-{name}, {COLOURS[name][0]})"


def colour_rows() -> list[dict[str, Any]]:
    """The dataset `colours`, of which charts.js makes the variables that `colour` names."""
    return [{"name": name, "light": pair[0], "dark": pair[1]} for name, pair in COLOURS.items()]
