"""The shell of every page: its template, with styles, scripts and data inlined."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pyscale.report.page.bundle import vega_bundle
from pyscale.report.wording import ratio

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SCRIPTS = ("charts.js", "viewer.js", "page.js")
"""In the order in which they run, after the libraries of the charts."""
_CODE = re.compile(r"`([^`]+)`")


def rendered(template: str, data: Mapping[str, Any], **values: Any) -> str:
    """Fill in a page that extends `page/base.html.j2`.

    Parameters
    ----------
    template : str
        Name of its template, as `page/report.html.j2`.
    data : mapping
        What its scripts read: the JSON of the element `page-data`.
    **values
        What its template names.
    """
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
    environment.filters |= {"prose": prose, "ratio": ratio}
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


def script_json(data: Mapping[str, Any]) -> Markup:
    """Write JSON that no text in it can end the script element of."""
    from markupsafe import Markup

    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def prose(sentence: str) -> Markup:
    """Escape a sentence; what stands between backticks is set as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(sentence))))
