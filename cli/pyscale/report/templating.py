"""The Jinja2 templates of reports and of lines to paste."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(*, of_pages: bool = False) -> Environment:
    """Environment of the templates; an unset name is an error, and pages escape every text."""
    return Environment(
        loader=PackageLoader("pyscale.report"),
        autoescape=of_pages,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not of_pages,
    )
