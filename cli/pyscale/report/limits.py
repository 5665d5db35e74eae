"""Sentences on the limits of scaling, by the confidence in the first cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from jinja2 import Template

from pyscale.analysis.causes import TAKEN_OUT_WHOLE, Cause, Limits
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.templating import templates
from pyscale.wording import grouped, listing, number, ratio, resampled_share

SHORT = {
    "imbalance": "uneven shares of the work",
    "start-up": "start-up",
    "reading": "reading",
    "writing": "writing",
    "merging": "merging the windows",
    "contention": "waiting for cores",
    "work-inflation": "work inflation",
    "unattributed": "time that no phase covers",
    "busy": "tasks that take longer in sum",
}
"""Every cause of loss in a few words."""


def of_several(found: Sequence[Limits]) -> Iterator[str]:
    """State what limits the configurations of one curve, equal sentences once."""
    template = _template()
    shared = {"short": SHORT, "whole": TAKEN_OUT_WHOLE, "needed": repeats_needed()}
    said = grouped(
        (sentence, one.workers)
        for one in found
        for sentence in template.render(shared, found=one, rival=rival(one)).splitlines()
        if sentence
    )
    yield from (f"At N = {listing(counts)}{sentence}" for sentence, counts in said.items())


@cache
def _template() -> Template:
    environment = templates()
    environment.filters |= {"ratio": ratio, "number": number, "resampled": resampled_share}
    return environment.get_template("limits.j2")


def rival(found: Limits) -> Cause | None:
    """The cause that is first most often beside the main one; that one where it is alone."""
    others = found.causes[1:] or found.causes
    return max(others, key=lambda cause: cause.share_first or 0.0, default=None)
