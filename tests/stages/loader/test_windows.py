"""Which batches are timed: x is the number of a patch, and batches have four."""

from types import SimpleNamespace

import pytest

from patchsets import READ_BYTES
from pyscale_stages.loader import windows
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.loader.windows import batches_to_time, late_start, time_window
from pyscale_stages.ranks.group import Group


def params_of(**params):
    return LoaderParams(**{"num_workers": 1, "batches": 3} | params)


def first_x(timed):
    """Number of the first patch of each timed batch."""
    return [places.x_px[0] for places in timed.places if places is not None]


@pytest.mark.parametrize(
    ("params", "prefetch_factor", "taken", "first", "prefetched"),
    [
        ({}, 3, 0, [12, 16, 20], 3),
        # Nothing lies ready without loader processes.
        ({"num_workers": 0}, 2, 0, [0, 4, 8], 0),
        ({"opening": "published"}, 2, 1, [4, 8, 12], None),
    ],
    ids=["excluded", "no loader processes", "published"],
)
def test_batches_that_may_lie_ready_are_left_out_or_not_as_was_asked(
    make_batches, params, prefetch_factor, taken, first, prefetched
):
    batches = make_batches(**({"num_workers": 1, "prefetch_factor": prefetch_factor} | params))
    for _ in range(taken):
        batches.take()
    timed = time_window(batches, params_of(**params), None, [])
    assert first_x(timed) == first
    assert prefetched is None or timed.window.prefetched_batches == prefetched


def test_each_wait_is_within_the_window_and_each_step_holds_wait_copy_and_meeting(make_batches):
    window = time_window(make_batches(), params_of(num_workers=0), None, []).window
    assert len(window.waits_s) == 3
    assert 0 < sum(window.waits_s) <= window.wall_s
    assert window.patches == 12
    assert (window.steps_s, window.copies_s) == ((), ())
    copied = []

    def copy(batch):
        copied.append(int(batch["x"][0]))

    timed = time_window(make_batches(), params_of(num_workers=0), copy, [], Group(0, 1))
    window = timed.window
    assert copied == [0, 4, 8]
    for wait_s, copy_s, step_s in zip(window.waits_s, window.copies_s, window.steps_s, strict=True):
        assert wait_s + copy_s <= step_s
    assert sum(window.steps_s) <= window.wall_s


def test_the_clock_runs_for_the_timed_batches_alone(make_batches, monkeypatch):
    """On a clock that goes on by one with each batch."""
    batches = make_batches(num_workers=1, prefetch_factor=3)
    taken = []
    take = batches.take
    monkeypatch.setattr(batches, "take", lambda: taken.append(take()))
    monkeypatch.setattr("pyscale_stages.loader.windows.pixels_of", lambda _: range(4))
    monkeypatch.setattr("pyscale_stages.loader.windows.time.perf_counter", lambda: len(taken))
    window = time_window(batches, params_of(), None, []).window
    assert (window.wall_s, window.waits_s, len(taken)) == (3, (1, 1, 1), 6)


class Noting(Group):
    """Notes the meetings of one rank that is alone."""

    def __init__(self):
        super().__init__(0, 1)
        self.noted = 0

    def meet(self):
        """Note."""
        self.noted += 1


@pytest.mark.parametrize(
    ("opening", "before", "numbers"),
    [
        # As many as may lie ready are taken in step.
        ("excluded", 2, [8, 12, 16]),
        ("published", 0, [0, 4, 8]),
    ],
)
def test_all_clocks_start_at_a_meeting(make_batches, opening, before, numbers):
    group = Noting()
    batches = make_batches(num_workers=1, prefetch_factor=2, opening=opening)
    timed = time_window(batches, params_of(opening=opening), None, [], group)
    assert first_x(timed) == numbers
    assert group.noted == 1 + before + 3


def test_what_loader_processes_read_counts(make_batches):
    batches = make_batches(factory="patchsets:reading", num_workers=1, prefetch_factor=1)
    window = time_window(batches, params_of(), None, []).window
    # Of the three batches of four patches one may have been read before the clock started.
    assert window.read_bytes >= 2 * 4 * READ_BYTES
    assert window.cpu_s is not None


@pytest.mark.parametrize(
    ("num_workers", "opening", "expected"),
    [(0, "excluded", 50), (4, "excluded", 52), (64, "excluded", 64), (4, "published", 50)],
)
def test_a_window_is_whole_rounds_of_the_loader_processes(num_workers, opening, expected):
    assert batches_to_time(LoaderParams(num_workers=num_workers, opening=opening)) == expected


def test_ranks_that_start_apart_are_warned_of_and_nearly_at_one_moment_not():
    assert late_start([100.0, 100.1], [1.0, 2.0]) == ""
    assert "began 0.3 s apart and the shortest took 1 s" in late_start([5.0, 5.3], [1.0, 2.0])


def test_slides_are_as_cold_as_the_one_of_which_least_is_proved(monkeypatch):
    states = {"one": "verified-cold", "other": "evicted-unverified"}
    found = SimpleNamespace
    monkeypatch.setattr(
        windows, "evict_all", lambda files: [found(state=states[file.stem]) for file in files]
    )
    assert windows.evict_slides(["one.tif", "other.tif"]) == "evicted-unverified"
    assert windows.evict_slides(["one.tif"]) == "verified-cold"
