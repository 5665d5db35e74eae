"""The shell of every page: its template, with styles, scripts and data inlined."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pyscale.report.page.bundle import vega_bundle

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from pyscale.report.charts.chart import Chart
    from pyscale.report.viewer.model import Viewer

SCRIPTS = ("charts.js", "viewer.js", "page.js")
"""In the order in which they run, after the libraries of the charts."""
_CODE = re.compile(r"`([^`]+)`")


def rendered(template: str, data: Mapping[str, Any], **values: Any) -> str:
    """Fill in a page that extends `page/base.html.j2`."""
    return pages().get_template(template).render(page_data=script_json(data), **values)


@cache
def pages() -> Environment:
    """The environment of the pages: every text is escaped, a name that is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pyscale.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"prose": prose, "begun": begun}
    environment.globals |= {"asset": asset, "vega_bundle": inlined_bundle, "scripts": SCRIPTS}
    return environment


def asset(name: str) -> Markup:
    """Text of a style or script of this package, as it stands."""
    from markupsafe import Markup

    return Markup((files("pyscale.report") / "templates" / "page" / name).read_text("utf-8"))


def inlined_bundle() -> Markup:
    """Return the script of the charts' libraries, to stand in a script element."""
    from markupsafe import Markup

    return Markup(vega_bundle())


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
    from markupsafe import Markup

    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def begun(sentence: str) -> str:
    """Begin with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def prose(sentence: str) -> Markup:
    """Escape a sentence; what stands between backticks is set as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(sentence))))
