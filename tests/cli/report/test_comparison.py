import re

import polars as pl
import pytest

from asread import printed
from pyscale.analysis.comparison import comparison
from pyscale.planning.runfacts import Difference
from pyscale.report.comparison import (
    ComparisonContext,
    OutputComparison,
    judged,
)
from pyscale.report.comparisonview import Compared, shown
from refusals import assert_said

CONTEXT = ComparisonContext(base="run a", new="run b", measured_here=True)


@pytest.fixture(scope="module")
def compared(full):
    """A pipeline of 16 configurations beside one that takes 1.3 times as long."""
    slower = full.trials.with_columns(wall_s=1.3 * pl.col("wall_s"))
    return judged(comparison(full.trials, slower))


def of_track(**found):
    return CONTEXT.model_copy(update={"outputs": (OutputComparison(stage="track", **found),)})


def words(rows, context=CONTEXT):
    """What is shown of verdicts, below the table, as one line."""
    return re.split(r"\]|nwo / nwo", " ".join(printed(shown(Compared(context, rows))).split()))[-1]


def test_outputs_are_said_with_their_quality(compared):
    assert_said(words(compared, of_track(found="different", files=("tracks.parquet",))))
    # An output without a record proves nothing.
    assert_said(words(compared, of_track(found="unknown")))


def test_what_differs_is_remarked():
    for kinds in (("code",), ("code", "settings"), ("hardware", "nodes"), ("nodes",)):
        told = tuple(Difference(kind=kind, what="it", base="1", new="2") for kind in kinds)
        context = CONTEXT.model_copy(update={"differences": told})
        assert_said(Compared(context, ()).remarks[0])


def test_a_verdict_on_an_invalid_configuration_says_so(broken):
    table = comparison(broken.trials, broken.trials)
    assert table.filter("base_invalid", "new_invalid")[["stage", "workers"]].rows() == [
        ("track", 4)
    ]
    text = printed(shown(Compared(CONTEXT, judged(table))), width=140)
    marked = [line for line in text.splitlines() if "same, invalid" in line]
    assert [line.split()[0] for line in marked] == ["4"]
    assert_said(*(line for line in text.splitlines() if line.startswith("Invalid in ")))


def test_a_difference_that_may_not_count_is_shown_and_explained(full):
    close = full.trials.with_columns(wall_s=1.05 * pl.col("wall_s"))
    table = comparison(full.trials, close)
    assert set(table["verdict"]) <= {"slower", "not enough data"}
    slower = table.filter(verdict="slower").height
    text = printed(shown(Compared(CONTEXT, judged(table))))
    assert text.count("] slower") == slower > 0
    assert_said(words(judged(table)))
