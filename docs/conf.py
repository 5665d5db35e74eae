"""Sphinx settings for the site of these pages (`make docs`). The build needs no network."""

from __future__ import annotations

project = "pyscale"
extensions = ["myst_parser"]
# Links to headings, like suites.md#a-grid.
myst_heading_anchors = 3
html_theme = "furo"
html_title = "pyscale"
html_show_copyright = False
