import time
from itertools import pairwise

import pytest

from atleastone import some
from pyscale_stages.measure.spans import SpanRecorder


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock, which stands still until its one value is changed."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def lengths(recorder):
    """Phases and their seconds; the clock of these tests goes on by whole seconds."""
    return [
        (span.phase, round(span.wall_s)) for span in recorder.spans if span.phase != "python_start"
    ]


def test_a_span_lasts_as_long_as_its_block_and_an_inner_one_suspends_the_outer(clock):
    recorder = SpanRecorder(clock[0])
    with recorder.span("model_load"):
        clock[0] += 3
    clock[0] += 5
    with recorder.span("write"):
        clock[0] += 1
        with recorder.span("compute"):
            clock[0] += 10
            with recorder.span("read"):
                clock[0] += 100
        clock[0] += 2
    assert lengths(recorder) == [
        ("model_load", 3),
        ("write", 1),
        ("compute", 10),
        ("read", 100),
        ("compute", 0),
        ("write", 2),
    ]


def test_an_unmeasured_block_is_in_no_span_and_all_before_it_is_that_much_later(clock):
    recorder = SpanRecorder(clock[0])
    start = recorder.start_monotonic_s
    with recorder.span("read"):
        clock[0] += 3
    with recorder.span("model_load"):
        clock[0] += 5
        with recorder.unmeasured():
            clock[0] += 100
        clock[0] += 2
    assert lengths(recorder) == [("read", 3), ("model_load", 5), ("model_load", 2)]
    assert recorder.start_monotonic_s == start + 100
    assert all(
        before.end_monotonic_s == after.start_monotonic_s
        for before, after in pairwise(some(recorder.spans))
    )


def test_a_block_that_fails_is_recorded_and_ends_its_span(clock):
    recorder = SpanRecorder(clock[0])
    with pytest.raises(ZeroDivisionError), recorder.span("write"), recorder.span("compute"):
        clock[0] += 4
        raise ZeroDivisionError
    with recorder.span("read"):
        clock[0] += 1
    assert lengths(recorder) == [("write", 0), ("compute", 4), ("write", 0), ("read", 1)]
