import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.errors import UserError
from pyscale.planning.placement import Placement
from refusals import refused


@given(
    cores=st.lists(st.integers(0, 255), min_size=1, max_size=32, unique=True),
    per_worker=st.integers(1, 8),
)
def test_workers_that_fit_share_no_core(cores, per_worker):
    if per_worker > len(cores):
        with pytest.raises(UserError, match="lower --cpus-per-worker"):
            Placement(cores, per_worker, ())
        return
    placement = Placement(cores, per_worker, ())
    workers = placement.most_workers
    places = [placement.of(worker, workers, "cpu") for worker in range(workers)]
    used = [core for place in places for core in place.cpus]
    assert len(used) == len(set(used)) == workers * per_worker
    assert not any(place.shared for place in places)


def test_workers_beyond_the_cores_share_them_and_say_so():
    placement = Placement((0, 1), 1, ())
    places = [placement.of(worker, 4, "cpu") for worker in range(4)]
    assert [place.cpus for place in places] == [(0,), (1,), (0,), (1,)]
    assert all(place.shared for place in places)


@pytest.mark.parametrize(
    ("gpus", "seen", "most_without_sharing"),
    [
        (None, ["a", "b", "c", "d"], 4),
        (1, ["a", "b", "c", "d"], 4),
        (2, ["a,b", "c,d"], 2),
        (3, ["a,b,c"], 1),
        ("all", ["a,b,c,d"], 1),
    ],
)
def test_a_worker_sees_one_gpu_or_as_many_as_it_asks_for(gpus, seen, most_without_sharing):
    placement = Placement(range(8), 1, ("a", "b", "c", "d"))
    asked = {"gpus": gpus} if gpus else {}
    places = [placement.of(worker, 5, "cuda", **asked) for worker in range(5)]
    assert [place.env["CUDA_VISIBLE_DEVICES"] for place in places[: len(seen)]] == seen
    assert places[-1].env["CUDA_VISIBLE_DEVICES"] in seen
    sharing = [placement.of(0, workers, "cuda", **asked).shared for workers in range(1, 6)]
    assert sharing == [workers > most_without_sharing for workers in range(1, 6)]


def test_workers_on_a_mac_share_its_gpu():
    placement = Placement(range(8), 1, ())
    assert [placement.of(0, workers, "mps").shared for workers in (1, 2)] == [False, True]


def test_gpus_that_are_not_there_are_refused():
    with refused(UserError):
        Placement((0,), 1, ("a", "b")).of(0, 1, "cuda", gpus=3)
    with refused(UserError):
        Placement((0,), 1, ()).of(0, 1, "cuda")
