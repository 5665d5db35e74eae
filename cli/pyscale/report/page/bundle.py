"""Vega, Vega-Lite and Vega-Embed as one script, made once for each of their versions."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from pyscale_stages.atomic import write_atomically

PROVIDER = "vl-convert-python"
ON_WINDOW = "window.vegaEmbed = vegaEmbed;"


def vega_bundle() -> str:
    """Return the script that sets `window.vegaEmbed`.

    Making it takes seconds, so it is kept in the user's cache folder, where there is room.
    """
    import pooch

    kept = Path(pooch.os_cache("pyscale")) / "page" / f"vega-{version(PROVIDER)}.js"
    # A cache that is damaged or cannot be read or written is as none.
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    made = _made()
    with suppress(OSError):
        write_atomically(kept, made)
    return made


def _made() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(ON_WINDOW)
    # The only way out of a script element, whatever the libraries' strings hold.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
