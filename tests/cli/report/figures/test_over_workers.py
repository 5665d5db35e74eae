"""Figures over N: what is drawn is what was found, and the caption says how to read it."""

import pytest

from pyscale.report.figures import NothingToDrawError, cache, losses, speedup, wall_time
from refusals import refused


@pytest.mark.parametrize(
    ("draw", "missing"), [(losses, "`mean_task_s`"), (cache, "page cache"), (speedup, None)]
)
def test_where_nothing_was_measured_it_says_what_is_missing(of_table, nothing_timed, draw, missing):
    if missing is not None:
        with refused(NothingToDrawError):
            draw(of_table(["a"]))
        return
    for over_n in (speedup, wall_time):
        with refused(NothingToDrawError):
            over_n(nothing_timed)
