"""What people read: of a terminal, and of a page."""

import html
import io
import re

from rich.console import Console


def printed(*parts, width=100, crop=True, **console):
    """What a terminal of this width shows."""
    out = io.StringIO()
    for part in parts:
        Console(file=out, width=width, **console).print(part, crop=crop)
    return out.getvalue()


def seen(page):
    """Text between the elements of a page, without scripts and styles."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", bare)).split())
