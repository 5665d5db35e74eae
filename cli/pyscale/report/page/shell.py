"""The shell of every page: its template, with styles, scripts, Vega and data inlined."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.metadata import files, version
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape
from platformdirs import user_cache_path

from pyscale.report.charts.chart import Chart
from pyscale.report.templating import templates
from pyscale.report.viewer.build import Viewer
from pyscale_stages.atomic import write_atomically

PROVIDER = "vl-convert-python"
ON_WINDOW = "window.vegaEmbed = vegaEmbed;"


def vega_bundle() -> str:
    """Return the script that sets `window.vegaEmbed`.

    Making it takes seconds, so it is kept in the user's cache folder, where there is room. The
    copyright notices of its parts, which the libraries drop as they are made small, stand first.
    """
    return f"{_notices()}\n{_libraries()}"


def _libraries() -> str:
    # Of another `_made` the script is another, though the libraries are the same.
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    kept = user_cache_path("pyscale") / "page" / f"vega-{version(PROVIDER)}-{made_by}.js"
    # A cache that is damaged or cannot be read or written is as none.
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    made = _made()
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, made)
    return made


def _made() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(ON_WINDOW)
    # The only way out of a script element, whatever the libraries' strings hold.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _notices() -> str:
    import vl_convert

    told = str(asset("notices.txt")).format(
        vega=vl_convert.get_vega_version(),
        vega_lite=vl_convert.get_vegalite_versions()[-1],
        vega_embed=vl_convert.get_vega_embed_version(),
        conditions=_bsd_conditions(),
    )
    return f"/*!\n{told}*/"


def _bsd_conditions() -> str:
    """Conditions of the licence that Vega and its provider share, less the provider's own name."""
    texts = [file.read_text("utf-8") for file in files(PROVIDER) or () if file.name == "LICENSE"]
    kept = [line for line in "".join(texts).splitlines() if not line.startswith("Copyright")]
    return "\n".join(kept).replace("*/", "* /").strip()


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
    environment.filters["prose"] = prose
    libraries = {"vega_bundle": lambda: Markup(vega_bundle()), "scripts": SCRIPTS}
    environment.globals |= {"asset": asset} | libraries
    return environment


def asset(name: str) -> Markup:
    """Text of a style or script of this package, as it stands."""
    return Markup(
        (resources.files("pyscale.report") / "templates" / "page" / name).read_text("utf-8")
    )


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
