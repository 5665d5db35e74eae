"""The Jinja2 templates of pages and text, and of sentences and lines to paste."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pyscale import wording
from pyscale.report.dictionary import labels
from pyscale_stages.wording import plural

FILTERS = (
    *("amount", "coarse", "few", "gib", "listing", "number", "percent", "phase", "ratio"),
    *("resampled_share", "score", "score_below", "titled"),
)
"""Functions of `pyscale.wording` by which templates write values."""


def templates(*, of_pages: bool = False) -> Environment:
    """Environment of the templates; an unset name is an error, and pages escape every text."""
    made = Environment(
        loader=PackageLoader("pyscale.report"),
        autoescape=of_pages,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not of_pages,
    )
    made.filters |= {name: getattr(wording, name) for name in FILTERS}
    made.globals |= {"labels": labels, "plural": plural, "ratio": wording.ratio}
    return made


def sentences(template: str, macro: str = "", **known: Any) -> list[str]:
    """Sentences of a template, or of one of its macros, which has each in a line of its own."""
    found = _of_sentences().get_template(template)
    said: str = getattr(found.module, macro)(**known) if macro else found.render(known)
    return [line for line in said.splitlines() if line]


@cache
def _of_sentences() -> Environment:
    return templates()
