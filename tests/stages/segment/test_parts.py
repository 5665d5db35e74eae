"""Where the time of a call goes: each moment in one part, and Cellpose left as it was."""

from importlib import import_module
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from pyscale_stages.errors import MissingPart
from pyscale_stages.movie import Movie
from pyscale_stages.segment import parts
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.segment.parts import HOOKS, PARTS, SIZE_HOOK, Hook, PartTimes, timed_parts
from refusals import refused


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only where a test says so."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(parts, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


@pytest.fixture(scope="module")
def frame(movie):
    return next(Movie.open(movie / "movie.ome.tif").frames(0, 1, channel=0))


def nothing_to_wait_for():
    """A device that has finished."""


def now_in_place(hooks):
    return [attrgetter(hook.function)(import_module(hook.module)) for hook in hooks]


def test_a_moment_counts_once_for_the_innermost_part(clock):
    times = PartTimes(("prepare", "network"), nothing_to_wait_for)
    with times.part("prepare"):
        clock.now_s += 1
        with times.part("network"):
            clock.now_s += 10
            with times.part("network"):
                clock.now_s += 100
        clock.now_s += 2
    clock.now_s += 1000
    assert times.seconds == {"prepare": 3, "network": 110}


def test_the_rest_of_a_part_can_belong_to_another(clock):
    times = PartTimes(("prepare", "network", "stitch"), nothing_to_wait_for)
    with times.part("prepare"):
        clock.now_s += 1
        with times.part("network"):
            clock.now_s += 10
        times.go_on_as("stitch")
        clock.now_s += 2
    assert times.seconds == {"prepare": 1, "network": 10, "stitch": 2}


def test_a_part_can_be_told_as_a_whole(clock):
    times = PartTimes(("network", "stitch", "diameter"), nothing_to_wait_for)
    with times.part("diameter", whole=True):
        clock.now_s += 1
        with times.part("network"):
            clock.now_s += 10
        times.go_on_as("stitch")
        clock.now_s += 2
    with times.part("network"):
        clock.now_s += 5
    assert times.seconds == {"network": 5, "stitch": 0, "diameter": 13}


def test_a_part_ends_when_the_device_has_done_its_work(clock):
    left_s = 0.0

    def wait():
        nonlocal left_s
        clock.now_s += left_s
        left_s = 0

    times = PartTimes(("network", "from_device"), wait)
    with times.part("network"):
        left_s = 7
        with times.part("from_device"):
            clock.now_s += 1
    assert times.seconds == {"network": 7, "from_device": 1}


def test_a_part_that_fails_is_counted_and_over(clock):
    times = PartTimes(("prepare", "network"), nothing_to_wait_for)
    with times.part("prepare"):
        with pytest.raises(ZeroDivisionError), times.part("network", whole=True):
            clock.now_s += 4
            raise ZeroDivisionError
        clock.now_s += 1
    assert times.seconds == {"prepare": 1, "network": 4}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.where)
def test_cellpose_calls_each_function_where_it_is_hooked(hook, segmenter, frame):
    with timed_parts((hook,), nothing_to_wait_for) as times:
        segmenter.segment(frame[:64, :64], SegmentParams())
    assert times.seconds[hook.part] > 0


def test_hooks_change_no_label_and_cellpose_is_as_it_was_after_a_call(segmenter, frame):
    hooks = (*HOOKS, SIZE_HOOK)
    before = now_in_place(hooks)
    plain = segmenter.segment(frame, SegmentParams())
    with timed_parts(hooks, nothing_to_wait_for) as times:
        assert not any(now is then for now, then in zip(now_in_place(hooks), before, strict=True))
        hooked = segmenter.segment(frame, SegmentParams())
    assert now_in_place(hooks) == before
    assert plain.dtype == hooked.dtype
    np.testing.assert_array_equal(plain, hooked)
    assert {part for part, seconds in times.seconds.items() if seconds > 0} == {
        part for part in PARTS if part != "diameter"
    }


def test_cellpose_is_as_it_was_after_a_failure(segmenter, frame, monkeypatch):
    before = now_in_place(HOOKS)
    monkeypatch.setattr(segmenter.model, "net", None)
    with pytest.raises(AttributeError), timed_parts(HOOKS, nothing_to_wait_for):
        segmenter.segment(frame, SegmentParams())
    assert now_in_place(HOOKS) == before


def test_a_function_that_cellpose_lacks_is_named_and_nothing_stays_hooked():
    before = now_in_place(HOOKS)
    renamed = Hook("network", "cellpose.core", "_forwards")
    with (
        refused(MissingPart),
        timed_parts((*HOOKS, renamed), nothing_to_wait_for),
    ):
        pass
    assert now_in_place(HOOKS) == before
