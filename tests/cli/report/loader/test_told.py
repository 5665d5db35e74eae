"""Answers and sentences on loading patches."""

from dataclasses import replace

import polars as pl
import pytest

from atleastone import some
from madeuploader import ENTRIES, consuming, entries_like, made_up
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.kinds import sections_of
from pyscale.report.ranks.loader import names_of, same, to_paste, trust_in
from refusals import assert_said


@pytest.fixture(scope="module")
def unfed():
    """Eight configurations on 1 and 2 ranks, six times; nobody told what training takes."""
    return made_up()


def told(results):
    (section,) = sections_of(results)
    return section


def feeds(results):
    first = told(results).answered[0].answers[0]
    return first.text.removeprefix("Feeds: ")


def advised(results):
    """Sentences on the settings to take, those for the most ranks first."""
    section = told(results)
    take = [a.text for a in section.answered[0].answers if a.question in {"Take", "Gives up"}]
    fewer = [sentence for sentence in section.blocks[0].said if sentence.startswith("Take: ")]
    return [*([" ".join(take)] if take else []), *fewer]


def row_of(results, stage, workers):
    return results.of(LoaderFindings).points.row(
        by_predicate=(pl.col("stage") == stage) & (pl.col("workers") == workers), named=True
    )


def test_whether_storage_feeds_training_is_told_as_surely_as_it_is_known():
    # Storage that is too slow does not feed, nothing is sure without an interval, and where the
    # consumption is unknown the report says how to set it.
    for consumes_per_s, repeats, answer in (
        (620.0, 6, "No: "),
        (100.0, 3, "Uncertain: "),
        (None, 6, "Unknown: "),
    ):
        text = feeds(made_up(consuming(consumes_per_s), repeats=repeats))
        assert text.startswith(answer)
        assert_said(text)


def test_what_is_advised_says_what_it_gives_up():
    small = [replace(one, stage=f"{one.stage}_small", patch_px=64) for one in ENTRIES[:2]]
    for entries, repeats in (
        # Where the fastest is diverse enough nothing is given up.
        ([replace(ENTRIES[0], effective_slides=12.0), ENTRIES[1]], 6),
        # One configuration alone is not called the fastest.
        (ENTRIES[:1], 6),
        # Too few trials prove nothing faster than another.
        (ENTRIES[6:], 1),
        # The fastest of patches of two sizes is the fastest of its own size.
        ([*ENTRIES[:2], *small], 6),
    ):
        assert_said(*advised(made_up(entries, repeats=repeats)))


def test_lines_to_paste_are_python_with_the_settings_of_the_advice(unfed):
    data, loader = (line for _, line in told(unfed).paste)
    compile(f"{data}\n{loader}", "pasted", "exec")
    assert "pool_size=16" in data
    assert "num_workers=8" in loader
    assert "prefetch_factor=2" in loader
    # Without loader processes nothing is prefetched.
    _, (_, loader) = told(made_up([replace(ENTRIES[0], num_workers=0)])).paste
    assert "num_workers=0" in loader
    assert "prefetch_factor" not in loader
    # A factory of the user's own is called by its name.
    row = row_of(made_up([replace(ENTRIES[0], factory="mine.data:patches")]), "pool1", 1)
    what, line = to_paste(row)[0]
    assert "mine.data:patches" in what
    assert line.startswith("dataset = patches(slide_paths, ")


def test_patches_that_say_no_place_are_told_of_by_speed_alone():
    results = made_up([replace(entry, effective_slides=None) for entry in ENTRIES])
    found = told(results)
    assert advised(results) == []
    assert_said(feeds(results))
    assert not any("Diversity" in table.caption for table in found.blocks[0].tables)


def test_factories_with_equal_settings_are_said_to_deliver_the_same_patches_or_not(unfed):
    other = [replace(e, checksum="0" if e.stage == "own" else e.checksum) for e in ENTRIES]
    for results in (unfed, made_up(other)):
        assert_said(*(one for one in told(results).blocks[0].said if "delivered" in one))


def test_where_everything_failed_there_is_no_rate_and_the_answer_says_so():
    results = made_up([replace(entry, error="no slide") for entry in ENTRIES[:2]])
    found = told(results)
    assert feeds(results) == "Unknown: no timed configuration."
    assert found.paste == ()
    assert found.answered[0].trust == "no"


def test_a_rank_that_lags_behind_is_a_doubt_and_of_one_rank_nothing_is_said():
    assert_said(*told(made_up(slowest=0.5, ranks=(4,))).doubts)
    (found,) = (one for one in told(made_up(ENTRIES[:1], ranks=(1,))).blocks if one.said)
    assert not any(table.caption == "Rank by rank" for table in some(found.tables))
    assert not any("rank " in sentence for sentence in some(found.said))


@pytest.mark.parametrize(
    ("told_of", "grade", "reason"),
    [
        ({"cache_state": "warm"}, "with care", "warm cache though not requested"),
        ({"cache_state": "evicted-unverified"}, "with care", "cold cache not proven"),
        ({"cores": 2}, "with care", "more workers than cores or GPUs"),
        ({"repeats": 3}, "untested", "only 3 trials"),
    ],
)
def test_what_makes_numbers_doubtful_stands_beside_the_answer(told_of, grade, reason):
    trusted = trust_in(made_up(**told_of).of(LoaderFindings))
    assert trusted.grade == grade
    assert reason in trusted.reasons


def test_patches_that_were_not_compared_leave_the_rate_untested():
    findings = made_up().of(LoaderFindings)
    assert trust_in(findings).grade == "yes"
    points = findings.points.with_columns(checksum=pl.lit(None, pl.String))
    trusted = trust_in(replace(findings, points=points, advised=()))
    assert (trusted.grade, trusted.reasons) == ("untested", ("outputs not compared",))


@pytest.mark.parametrize(
    ("varied", "names"),
    [
        ([{"pool_size": 2}, {"pool_size": 4}], ["pool 2", "pool 4"]),
        # Entries that differ in no setting are named by themselves.
        ([{}, {}], ["0", "1"]),
        ([{"pin_memory": False}, {"pin_memory": True}], ["pinned no", "pinned yes"]),
    ],
)
def test_names_hold_what_differs_and_nothing_else(varied, names):
    entries = entries_like(
        ENTRIES[0], [{"stage": str(place)} | one for place, one in enumerate(varied)]
    )
    points = made_up(entries, ranks=(1,), repeats=1).of(LoaderFindings).points.to_dicts()
    assert list(names_of(points).values()) == names
    alike, *_ = same(points)
    assert "num_workers=2" in alike
    assert not any(f"{name}=" in alike for one in varied for name in one)
