"""The shell of every page: its template, with styles, scripts and data inlined."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from pyscale.report.charts.chart import Chart
from pyscale.report.page.bundle import vega_bundle
from pyscale.report.templating import templates
from pyscale.report.viewer.build import Viewer
from pyscale.wording import titled

SCRIPTS = ("save.js", "charts.js", "viewer.js", "page.js")
"""In the order in which they run, after the libraries of the charts."""
_CODE = re.compile(r"`([^`]+)`")


def rendered(template: str, data: Mapping[str, Any], **values: Any) -> str:
    """Fill in a page that extends `page/base.html.j2`."""
    return pages().get_template(template).render(page_data=script_json(data), **values)


@cache
def pages() -> Environment:
    """The environment of the pages."""
    environment = templates(of_pages=True)
    environment.filters |= {"prose": prose, "begun": titled}
    libraries = {"vega_bundle": lambda: Markup(vega_bundle()), "scripts": SCRIPTS}
    environment.globals |= {"asset": asset} | libraries
    return environment


def asset(name: str) -> Markup:
    """Text of a style or script of this package, as it stands."""
    return Markup((files("pyscale.report") / "templates" / "page" / name).read_text("utf-8"))


def page_data(
    charts: Sequence[Chart], datasets: dict[str, list[dict[str, Any]]], viewer: Viewer
) -> dict[str, Any]:
    """Collect what charts.js and viewer.js read on any page."""
    return {
        "charts": {chart.id: chart.model_dump(mode="json", exclude={"id"}) for chart in charts},
        "datasets": datasets,
        "viewer": viewer.data,
    }


def script_json(data: Mapping[str, Any]) -> Markup:
    """Write JSON that no text in it can end the script element of."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def prose(sentence: str) -> Markup:
    """Escape a sentence; what stands between backticks is set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(sentence))))
