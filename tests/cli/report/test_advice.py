"""What is said of a choice follows from its numbers, and from how sure they are."""

import polars as pl

from madeupadvice import choice, request
from pyscale.analysis.causes import limits
from pyscale.analysis.resource_request import GIB
from pyscale.report.advice import asked, doubts, limits_near
from pyscale.report.advice import too_much as too_much_of
from pyscale.report.curves import curves
from pyscale.report.sentences import excluded
from refusals import assert_said


def test_a_request_states_its_margins_and_what_it_was_measured_for():
    assert_said(asked(request(), "hela on EPYC"))
    for changes in (
        # What nobody measured is not asked for.
        {"cpus": None, "memory_bytes": None, "work_per_window": None, "gpus": 1},
        # Of a table nobody knows what its work counts, and its tasks may not have been timed.
        {"device": None, "work_per_window": 1_250_000.0, "tasks_timed": False},
    ):
        assert_said(asked(request(**changes), "a.csv"))


def test_an_invalid_configuration_is_named_with_its_score_and_never_doubted(full):
    of_track = full.configurations.filter(pl.col("stage") == "track").with_columns(
        invalid=pl.col("workers") == 8,
        agreement=pl.lit(0.5),
        agreement_tolerance=pl.lit(0.999),
        flags=pl.lit(["drift", "few-repeats", "disagrees"]),
    )
    (curve,) = curves(of_track)
    # What costs precision alone is no doubt of its own: the share of resamples holds it.
    assert len(doubts([curve])) == 1
    assert_said(*excluded(curve), *doubts([curve]))


def test_limits_near_a_choice_are_its_own_and_the_next_larger_valid_ones(full):
    curve, *_ = curves(full.configurations)
    causes = limits(full.trials)
    (own,) = (one for one in causes if curve.owns(one) and one.workers == 2)
    larger, largest, of_another = (
        own.model_copy(update=change)
        for change in ({"workers": 4}, {"workers": 8}, {"stage": "other"})
    )
    found = [own, larger, largest, of_another]
    assert limits_near(curve, [choice(workers=2), choice(workers=None)], found) == [own, larger]
    assert limits_near(curve, [choice(workers=None)], found) == []
    invalid = full.configurations.with_columns(invalid=pl.col("workers") == 4)
    curve, *_ = curves(invalid)
    near = limits_near(curve, [choice(workers=2)], found)
    assert [one.workers for one in near] == [2, 8]


def test_what_nobody_used_is_named_with_what_is_enough(new_run):
    usual = {"requested_cpus": 4, "requested_memory_bytes": 8 * GIB}
    usual |= {"peak_rss_bytes": 5 * GIB // 4, "cpu_s": lambda n, _: 8.0 / n}
    # Cores alone can be too many, and what was needed is not called too much.
    for changes, sentences in (
        ({}, 1),
        ({"requested_memory_bytes": None}, 1),
        ({"requested_cpus": 1, "requested_memory_bytes": 2 * GIB}, 0),
        ({"requested_cpus": None, "requested_memory_bytes": None}, 0),
    ):
        run = new_run().curve("segment", lambda n, _: 8.0 / n, blocks=1, **usual | changes)
        found = list(too_much_of(curves(run.configurations)))
        assert len(found) == sentences
        assert_said(*found)
