"""What limits scaling, in words: as sure as the resamples are."""

from functools import partial

from atleastone import some
from madeupadvice import cause, limits
from pyscale.report.dictionary import labels
from pyscale.report.sentences import limits as of_several
from refusals import assert_said

SHORT = labels("causes")
START_UP = cause("start-up", 0.93, 0.998, gain=0.32, seconds=12.5)
READING = cause("reading", 0.91, 0.002, gain=0.30, seconds=12.1)
GREW = cause("work-inflation", 0.9, 1, gain=0.29, seconds=12)
BUSY = cause("busy", 0.786, None, gain=0.564, seconds=225)
TASKS = {"efficiency": 0.222, "inflation": 3.546, "not_measured": ("contention",)}

limits_of = partial(limits, inflation=1.31, cpu_growth=1.28)


def told(*causes, **changed):
    return list(of_several([limits_of(*causes, **changed)]))


def test_a_cause_is_put_as_likely_as_it_is():
    # A share short of sure is not rounded up to it.
    for share, rest in ((0.998, 0.002), (0.9, 0.1), (0.9496, 0.0504), (0.6, 0.4), (None, None)):
        found = told(
            START_UP.model_copy(update={"share_first": share}),
            READING.model_copy(update={"share_first": rest}),
        )
        assert len(found) == 1
        assert_said(*found)


def test_without_a_main_cause_the_largest_is_given_with_what_it_costs():
    for largest, efficiency in (
        (cause("imbalance", 0.99, 0.7, gain=0.01), 0.98),
        # A loss of many small causes.
        (cause("reading", 0.52, 0.7), 0.5),
        (cause("reading", 1.0, 0.7, gain=0.0, seconds=0.0), 1.0),
    ):
        assert_said(*told(largest, efficiency=efficiency))


def test_growth_is_told_by_what_is_known_of_processor_time():
    for cpu_growth in (1.28, 1.02, None):
        assert_said(*told(GREW, cpu_growth=cpu_growth))
    # Whole tasks cannot tell their phases apart.
    assert_said(*told(BUSY, **TASKS))


def test_a_wait_that_was_not_measured_is_said_and_what_stands_beside_is_told_with_its_n():
    *_, unmeasured = told(START_UP, READING, not_measured=("contention",))
    assert_said(unmeasured, told(START_UP, READING, gpu_use=0.07)[-1])


def test_wall_times_alone_name_no_cause_and_what_is_true_of_several_n_is_said_once():
    of_cause = limits_of(START_UP, workers=8)
    several = [limits_of(workers=workers, not_measured=tuple(SHORT)) for workers in (2, 4)]
    first, *rest = of_several([*several, of_cause])
    assert rest == list(of_several([of_cause]))
    assert_said(*told(not_measured=tuple(SHORT)), first)


def test_every_cause_has_its_words():
    for code in some(SHORT):
        assert_said(*told(START_UP.model_copy(update={"code": code})))
