from importlib import import_module
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from pyscale_stages import timing
from pyscale_stages.movie import Movie
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.segment.parts import HOOKS, PARTS, SIZE_HOOK, timed_parts


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only where a test says so."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now_s))
    return clock


@pytest.fixture(scope="module")
def frame(movie):
    return next(Movie.open(movie / "movie.ome.tif").frames(0, 1, channel=0))


def nothing_to_wait_for():
    """A device that has finished."""


def now_in_place(hooks):
    return [attrgetter(hook.function)(import_module(hook.module)) for hook in hooks]


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
