"""What is said of a choice follows from its numbers, and from how sure they are."""

import polars as pl
import pytest

from madeupadvice import choice, request
from pyscale.analysis.causes import limits
from pyscale.report.advice import (
    asked,
    at_the_end,
    chosen,
    doubts,
    excluded,
    limits_near,
    sureness,
)
from pyscale.report.curves import curves

OFTEN = "best in {} % of resamples of the trials"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"share_chosen": 0.96}, f"Sure: {OFTEN.format(96)}."),
        ({"share_chosen": 0.9}, f"Likely: {OFTEN.format(90)}, else mostly N = 8."),
        # A share short of sure is not rounded up to it.
        ({"share_chosen": 0.946}, f"Likely: {OFTEN.format(94)}, else mostly N = 8."),
        ({"share_chosen": 0.6}, f"Undecided: {OFTEN.format(60)}, else mostly N = 8."),
        (
            {"share_chosen": 0.52, "share_close": 0.991},
            f"Undecided: {OFTEN.format(52)}, else mostly N = 8. Either will do: it is within 5 % "
            "of the best in 99 %.",
        ),
        (
            {"objective": "budget", "share_chosen": 0.5, "rival": None},
            "Undecided: within the budget, and within 5 % of the fastest that is, in 50 % of "
            "resamples of the trials, else none is within the budget.",
        ),
        (
            {"candidates": (4,), "share_chosen": None},
            "It is the only N with a timed trial and a valid output: there was no other.",
        ),
    ],
)
def test_how_sure_it_is_decides_how_it_is_put(changes, said):
    assert sureness(choice(**({"rival": 8} | changes))) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workers": 1}, "No larger N has a larger speedup x efficiency."),
        (
            {"workers": 1, "objective": "fastest", "share_chosen": 0.6},
            "In these trials no larger N is more than 5 % faster.",
        ),
        ({}, None),
        ({"objective": "fastest"}, "No larger N is more than 5 % faster."),
        # The largest has none beside it, and if it gained little nothing is said of larger ones.
        ({"objective": "fastest", "workers": 8}, None),
    ],
)
def test_what_no_larger_n_gives_is_told(changes, said):
    assert at_the_end(choice(**changes)) == said
    if changes == {"objective": "fastest"}:
        sure = "Sure: within 5 % of the fastest in 100 % of resamples of the trials."
        assert chosen(choice(**changes)).endswith(sure)


TIME = "(2 x the 200 s of the longest task, in whole 5 min)"


@pytest.mark.parametrize(
    ("changes", "of", "said"),
    [
        (
            *({}, "hela on EPYC"),
            "2 cores, 3 GiB of memory (1.2 x the peak of 2 GiB, in whole GiB) and 10 min "
            f"{TIME}. Measured on tasks of 12 frames of hela on EPYC: larger ones need more.",
        ),
        # What nobody measured is not asked for.
        (
            {"cpus": None, "memory_bytes": None, "work_per_window": None, "gpus": 1},
            "a.csv",
            f"1 GPU and 10 min {TIME}. Its memory was not measured. Measured on the tasks of "
            "a.csv: larger ones need more.",
        ),
        # Of a table nobody knows what its work counts, and its tasks may not have been timed.
        (
            {"device": None, "work_per_window": 1_250_000.0, "tasks_timed": False},
            "a.csv",
            "2 cores, 3 GiB of memory (1.2 x the peak of 2 GiB, in whole GiB) and 10 min (2 x the "
            "200 s of the longest trial, as no task was timed alone, in whole 5 min). Measured on "
            "tasks of 1250000 units of work of a.csv: larger ones need more.",
        ),
    ],
)
def test_a_request_states_its_margins_and_what_it_was_measured_for(changes, of, said):
    assert asked(request(**changes), of) == f"Each task at N = 4: {said}"


def test_an_invalid_configuration_is_named_with_its_score_and_never_doubted(full):
    of_track = full.configurations.filter(pl.col("stage") == "track").with_columns(
        invalid=pl.col("workers") == 8,
        agreement=pl.lit(0.5),
        agreement_tolerance=pl.lit(0.999),
        flags=pl.lit(["drift", "few-repeats", "disagrees"]),
    )
    (curve,) = curves(of_track)
    (said,) = excluded(curve)
    assert said.startswith("N = 8 is never chosen: ")
    assert "0.5" in said
    assert "0.999" in said
    # What costs precision alone is no doubt of its own: the share of resamples holds it.
    (doubt,) = doubts([curve])
    assert doubt.startswith("`drift` (track at N = 1, 2 and 4): ")


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
