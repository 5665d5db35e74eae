"""What limits scaling, in words: as sure as the resamples are."""

from functools import partial

import pytest

from madeupadvice import cause, limits
from pyscale.analysis.causes import Beside
from pyscale.report.limits import NAMES, of_several, sentences

START_UP = cause("start-up", 0.93, 0.998, gain=0.32, seconds=12.5)
READING = cause("reading", 0.91, 0.002, gain=0.30, seconds=12.1)
GREW = cause("work-inflation", 0.9, 1, gain=0.29, seconds=12)
BUSY = cause("busy", 0.786, None, gain=0.564, seconds=225)


limits_of = partial(limits, inflation=1.31, cpu_growth=1.28)


def told(*causes, **changed):
    return list(sentences(limits_of(*causes, **changed)))


def shared(share, *, rest=0.0):
    return (
        START_UP.model_copy(update={"share_first": share}),
        READING.model_copy(update={"share_first": rest}),
    )


def test_a_sure_cause_is_stated_with_its_numbers():
    assert told(START_UP, READING) == [
        "At N = 4 start-up (of containers, interpreters, imports and models) limits scaling: "
        "without its growth over N = 1, the efficiency would be 0.93 instead of 0.61 and the wall "
        "time 12.5 s shorter (largest cause in 99 % of resamples)."
    ]


def test_an_undecided_cause_is_named_with_its_rival():
    (sentence,) = told(*shared(0.6, rest=0.4))
    assert sentence.startswith("At N = 4 either start-up")
    assert "or reading limits scaling most: without the former" in sentence
    assert "the efficiency would be 0.93, without the latter 0.91" in sentence
    assert "instead of 0.61 (largest cause in 60 % and 40 % of resamples)" in sentence


@pytest.mark.parametrize(
    ("share", "rest", "said", "confidence"),
    [
        (0.9, 0.1, "probably limits scaling: without its growth", "in 90 % of resamples"),
        # A share short of sure is not rounded up to it.
        (0.9496, 0.0504, "probably limits scaling", "in 94 % of resamples"),
        (None, None, "seems to limit scaling", "(confidence unknown: fewer than 6 trials)."),
    ],
)
def test_a_cause_is_put_as_likely_as_it_is(share, rest, said, confidence):
    (sentence,) = told(*shared(share, rest=rest))
    assert said in sentence
    assert confidence in sentence


@pytest.mark.parametrize(
    ("largest", "efficiency", "said"),
    [
        (
            cause("imbalance", 0.99, 0.7, gain=0.01),
            0.98,
            "removing any single cause would raise the efficiency of 0.98 by less than 5 %. The "
            "largest is imbalance (some workers had more to compute than others): without it, the "
            "efficiency would be 0.99.",
        ),
        # A loss of many small causes.
        (
            cause("reading", 0.52, 0.7),
            0.5,
            "the sum of several causes, or of causes on different workers",
        ),
        (
            cause("reading", 1.0, 0.7, gain=0.0, seconds=0.0),
            1.0,
            "At N = 4 no measured cause lowers the efficiency of 1.00.",
        ),
    ],
)
def test_without_a_main_cause_the_largest_is_given_with_what_it_costs(largest, efficiency, said):
    (sentence,) = told(largest, efficiency=efficiency)
    assert said in sentence


def test_growth_is_told_by_what_is_known_of_processor_time():
    (growth,) = told(GREW)
    assert "1.31 times the baseline's worker-seconds and 1.28 times its" in growth
    assert "Times alone cannot separate these." in growth
    (waited,) = told(GREW, cpu_growth=1.02)
    assert "1.02 times its processor time" in waited
    assert "something other than a core" in waited
    (unknown,) = told(GREW, cpu_growth=None)
    assert "For the same work" not in unknown


def test_whole_tasks_cannot_tell_their_phases_apart():
    (told_once,) = told(BUSY, efficiency=0.222, inflation=3.546, not_measured=("contention",))
    assert told_once.startswith("At N = 4 task growth")
    assert "the tasks took 3.55 times the baseline's worker-seconds" in told_once
    assert "cannot be separated" in told_once


def test_a_wait_that_was_not_measured_is_said():
    *_, last = told(START_UP, READING, not_measured=("contention",))
    assert last == (
        "At N = 4 waiting for a core was not measured: contention would look like imbalance or "
        "work inflation."
    )


def test_wall_times_alone_name_no_cause_and_what_is_true_of_several_n_is_said_once():
    unknown = "the limit of scaling is unknown: only whole trials were timed."
    assert told(not_measured=tuple(NAMES)) == [f"At N = 4 {unknown}"]
    of_cause = limits_of(START_UP, workers=8)
    several = [*(limits_of(workers=workers) for workers in (2, 4)), of_cause]
    assert list(of_several(several)) == [f"At N = 2 and 4 {unknown}", *sentences(of_cause)]


@pytest.mark.parametrize("code", NAMES)
def test_every_cause_has_its_words(code):
    sentence = told(START_UP.model_copy(update={"code": code}))[0]
    assert NAMES[code] in sentence


def test_what_stands_beside_is_told_with_its_n():
    idle = Beside(
        code="idle-gpu",
        numbers={"gpu_mean_utilisation": 0.07},
        sentence="The GPU was at work for 7 % of the time.",
    )
    assert told(START_UP, READING, beside=(idle,))[-1] == (
        "At N = 4: The GPU was at work for 7 % of the time."
    )
