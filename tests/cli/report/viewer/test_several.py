"""What the page of several runs says of each."""

from dataclasses import replace

import polars as pl

from pyscale.evaluation.results import analysed
from pyscale.report.comparison import ComparisonContext
from pyscale.report.viewer.several import Several, against_first
from pyscale.report.viewer.sources import SideBySide, source_of
from refusals import assert_said

MOVIE = frozenset({"movie"})
CONTEXT = ComparisonContext(base="run a", new="run b", measured_here=True)


def several(found, *differing):
    count = len(found.sources)
    return Several(found, [None] * count, [CONTEXT] * (count - 1), differing)


def beside(base, new, *, same_movie=True):
    other = MOVIE if same_movie else frozenset({"another"})
    return several(SideBySide.of([source_of(base, alike=MOVIE), source_of(new, alike=other)]))


def against(several):
    (found,) = against_first(several)
    return found


def test_runs_of_other_stages_and_n_say_what_only_one_has(full, thin):
    without_track = analysed(full.trials.filter(pl.col("stage") != "track"), full.context)
    found = against(beside(without_track, thin)).compared
    assert_said(found.headline, *found.said, *found.notes.values())


def test_runs_with_nothing_in_common_or_of_another_input_are_shown_and_not_judged(full, slower):
    one, other = (
        analysed(full.trials.filter(pl.col("stage") == stage), full.context)
        for stage in ("track", "segment")
    )
    told = CONTEXT.model_copy(update={"nothing_in_common": "a is of tracks, and b of cells"})
    apart = against(replace(beside(one, other), contexts=[told]))
    found = against(beside(full, slower, same_movie=False))
    for each in (apart, found):
        assert (each.compared.headline, each.compared.tables) == (None, [])
    assert_said(apart.refused, found.refused)


def test_other_work_at_an_n_is_not_judged_there(full):
    longer = pl.when(pl.col("workers") == 8).then(2 * pl.col("work")).otherwise("work")
    other = analysed(full.trials.with_columns(work=longer), full.context)
    found = against(beside(full, other)).compared
    words = {row["workers"]: row["verdict"] for row in found.rows}
    assert words == {1: "same", 2: "same", 4: "same", 8: None}
    assert_said(found.headline, *found.said)
