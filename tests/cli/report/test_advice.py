"""What is said of a choice follows from its numbers, and from how sure they are."""

import polars as pl
import pytest

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import limits
from pyscale.analysis.requests import Request
from pyscale.report.advice import (
    asked,
    at_the_end,
    cells,
    chosen,
    doubts,
    excluded,
    limits_near,
    sureness,
)
from pyscale.report.curves import curves

GIB = 1 << 30


CURVE = {"suite": "demo", "stage": "segment", "device": "cpu"}


def choice(**changes):
    fields = {
        "objective": "knee",
        "candidates": (1, 2, 4, 8),
        "workers": 4,
        "baseline_workers": 1,
        "wall_s": 12.34,
        "wall_s_low": 12.0,
        "wall_s_high": 12.9,
        "repeats": 6,
        "speedup": 3.1,
        "speedup_low": 3.0,
        "speedup_high": 3.2,
        "efficiency": 0.775,
        "worker_hours": 0.0137,
        "share_chosen": 1.0,
    }
    return Choice(**(CURVE | fields | changes))


def request(**changes):
    fields = {
        "workers": 4,
        "windows": 4,
        "cpus": 2,
        "gpus": 0,
        "work_per_window": 12.0,
        "memory_bytes": 3 * GIB,
        "peak_rss_bytes": 2 * GIB,
        "time_s": 600,
        "longest_task_s": 200.0,
    }
    return Request(**(CURVE | fields | changes))


def test_a_choice_is_said_with_its_numbers_and_intervals():
    said = chosen(choice())
    assert said.startswith(
        "request N = 4, which took 12.3 [12.0, 12.9] s (median of 6 trials), speedup 3.10 "
        "[3.00, 3.20], efficiency 0.78, 0.0137 worker-hours."
    )
    assert said.endswith("Sure: best in 100 % of resamples of the trials.")


def test_without_intervals_none_are_printed():
    ends = dict.fromkeys(("wall_s_low", "wall_s_high", "speedup_low", "speedup_high"))
    said = chosen(choice(**ends, repeats=1, share_chosen=None))
    assert "12.3 s (one trial), speedup 3.10, efficiency" in said
    assert said.endswith("Confidence unknown: some N has fewer than 6 timed trials.")


def test_a_refusal_or_a_choice_of_one_is_said_in_place_of_an_n():
    said = chosen(choice(workers=None, refusal="no trial was timed"))
    assert said == "no N is advised: no trial was timed."
    assert "there was no other" in sureness(choice(candidates=(4,), share_chosen=None))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"share_chosen": 0.96}, "Sure: best in 96 % of resamples of the trials."),
        (
            {"share_chosen": 0.9},
            "Likely: best in 90 % of resamples of the trials, else mostly N = 8.",
        ),
        (
            {"share_chosen": 0.6},
            "Undecided: best in 60 % of resamples of the trials, else mostly N = 8.",
        ),
        (
            {"share_chosen": 0.52, "share_close": 0.991},
            "Undecided: best in 52 % of resamples of the trials, else mostly N = 8. Either will "
            "do: it is within 5 % of the best in 99 %.",
        ),
        (
            {"objective": "budget", "share_chosen": 0.5, "rival": None},
            "Undecided: within the budget, and within 5 % of the fastest that is, in 50 % of "
            "resamples of the trials, else none is within the budget.",
        ),
    ],
)
def test_how_sure_it_is_decides_how_it_is_put(changes, said):
    assert sureness(choice(**({"rival": 8} | changes))) == said


def test_the_base_case_as_the_answer_says_that_no_larger_one_is_better():
    at_base = choice(workers=1)
    assert at_the_end(at_base) == "No larger N has a larger speedup x efficiency."
    unsure = choice(workers=1, objective="fastest", share_chosen=0.6)
    assert at_the_end(unsure) == "In these trials no larger N is more than 5 % faster."
    assert at_the_end(choice()) is None


def test_a_larger_n_that_is_hardly_faster_is_told_to_be_no_more_than_that():
    within = choice(objective="fastest")
    assert at_the_end(within) == "No larger N is more than 5 % faster."
    assert chosen(within).endswith(
        "Sure: within 5 % of the fastest in 100 % of resamples of the trials."
    )
    # The largest has none beside it, and if it gained little nothing is said of larger ones.
    assert at_the_end(choice(objective="fastest", workers=8)) is None


def test_a_share_short_of_sure_is_not_rounded_up_to_it():
    unsure = choice(share_chosen=0.946, rival=8)
    assert sureness(unsure).startswith("Likely: best in 94 % of resamples")
    assert cells(unsure, intervals=False)[-1] == "likely (94 %)"
    assert cells(choice(share_chosen=0.95), intervals=False)[-1] == "sure (95 %)"


def test_the_largest_measured_says_that_a_larger_one_may_be_better():
    said = chosen(choice(workers=8, at_edge=True))
    assert "a larger one may be better. Sure among those measured: best in 100 %" in said


def test_a_request_states_its_margins_and_what_it_was_measured_for():
    assert asked(request(), "hela on EPYC") == (
        "Each task at N = 4: 2 cores, 3 GiB of memory (1.2 x the peak of 2 GiB, in whole GiB) and "
        "10 min (2 x the 200 s of the longest task, in whole 5 min). Measured on tasks of 12 "
        "frames of hela on EPYC: larger ones need more."
    )


def test_what_nobody_measured_is_not_asked_for():
    said = asked(request(cpus=None, memory_bytes=None, work_per_window=None, gpus=1), "a.csv")
    assert said.startswith("Each task at N = 4: 1 GPU and 10 min (2 x ")
    assert "200 s of the longest task, in whole 5 min). Its memory was not measured." in said
    assert "Measured on the tasks of a.csv: larger" in said
    # Of a table nobody knows what its work counts, and its tasks may not have been timed.
    said = asked(request(device=None, work_per_window=1_250_000.0, tasks_timed=False), "a.csv")
    assert "Measured on tasks of 1250000 units of work of a.csv: larger ones" in said
    assert (
        "(2 x the 200 s of the longest trial, as no task was timed alone, in whole 5 min)" in said
    )


def test_an_invalid_configuration_is_named_with_its_score_and_never_doubted(full):
    of_track = full.configurations.filter(pl.col("stage") == "track").with_columns(
        invalid=pl.col("workers") == 8,
        agreement=pl.lit(0.5),
        agreement_tolerance=pl.lit(0.999),
        flags=pl.lit(["drift", "few-repeats"]),
    )
    (curve,) = curves(of_track)
    (said,) = excluded(curve)
    assert said.startswith("N = 8 is never chosen: ")
    assert "0.5" in said
    assert "0.999" in said
    # What costs precision alone is no doubt of its own: the share of resamples holds it.
    (doubt,) = doubts([curve])
    assert doubt.startswith("`drift` (track at N = 1, 2 and 4): ")


def test_limits_near_a_choice_are_its_own_and_the_next_larger_ones(full):
    curve, *_ = curves(full.configurations)
    causes = limits(full.trials)
    (own,) = (one for one in causes if curve.owns(one) and one.workers == 2)
    larger = own.model_copy(update={"workers": 4})
    largest = own.model_copy(update={"workers": 8})
    of_another = own.model_copy(update={"stage": "other"})
    found = [own, larger, largest, of_another]
    assert limits_near(curve, [choice(workers=2), choice(workers=None)], found) == [own, larger]
    assert limits_near(curve, [choice(workers=None)], found) == []


def test_an_invalid_n_is_passed_over_for_the_next_larger_valid_one(full):
    of_track = full.configurations.filter(pl.col("stage") == "track").with_columns(
        invalid=pl.col("workers") == 4
    )
    (curve,) = curves(of_track)
    near = limits_near(curve, [choice(stage="track", workers=2)], limits(full.trials))
    assert [one.workers for one in near] == [2, 8]
