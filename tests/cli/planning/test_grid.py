import pytest

from pyscale.errors import UserError
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import Suite, load_suite, suite_names
from refusals import refused

ON_CUDA = {"inputs": {"labels": "labels"}, "grid": {"device": ["cpu", "cuda"]}}
OTHER = {"stage": "segment", "inputs": {"frames": "movie"}}
GRID = {"length_px": [224, "full"], "device": ["cpu", "cuda"], "batch_size": [8]}


def suite(grid=GRID, **changes):
    segment = {"inputs": {"frames": "movie"}, "params": {"calls": 3}, "grid": grid}
    stages = {"stages": {"segment": segment} | changes.pop("stages", {})}
    named = {"name": "sizes", "summary": "", "versus": "device", "against": "length_px"}
    return Suite.model_validate(named | stages | changes)


def cores(_stage, device):
    return 8 if device == "cpu" else 4


def points(of, chosen=None, **fitted):
    return unfolded(of, chosen or {}, device="cpu", cores=cores, fitted=fitted)


def test_every_combination_is_an_entry_set_beside_the_same_with_the_first_value_of_versus():
    found = points(suite())
    assert {name: step.beside for name, step in found.stages.items()} == {
        "segment_224px_cpu": None,
        "segment_224px_cuda": "segment_224px_cpu",
        "segment_full_cpu": None,
        "segment_full_cuda": "segment_full_cpu",
    }
    point = found.stages["segment_224px_cuda"]
    assert found.stage_name("segment_224px_cuda") == "segment"
    assert point.params == {"calls": 3, "length_px": 224, "batch_size": 8}
    assert (point.family, point.device, point.grid) == ("segment", "cuda", {})
    assert point.point == {"length_px": 224, "device": "cuda", "batch_size": 8}
    # "full" is no value of the parameter, and stays in the place.
    full = found.stages["segment_full_cpu"]
    assert (full.params["length_px"], full.point["length_px"]) == (None, "full")
    # What others are compared with does not depend on the order of asking.
    turned = points(suite(), {"length_px": (224,), "device": ("cuda", "cpu")})
    assert turned.stages["segment_224px_cuda"].beside == "segment_224px_cpu"


def test_chosen_values_replace_those_that_fit_and_those_of_the_suite():
    found = points(suite(), {"length_px": (448,), "device": ("cpu",)})
    assert list(found.stages) == ["segment_448px_cpu"]
    fitted = {"length_px": (96,), "device": ("cpu",)}
    found = points(suite(), {"length_px": (448,)}, segment=fitted)
    assert list(found.stages) == ["segment_448px_cpu"]
    # A grid with one point is an entry of its own name.
    assert list(points(suite({"device": ["cpu"]}, against=None)).stages) == ["segment"]


def test_an_axis_that_no_grid_has_may_be_chosen_where_the_stage_knows_it():
    found = points(suite({"device": ["cpu"]}, against=None), {"calls": (2, 5)})
    assert {name: step.params["calls"] for name, step in found.stages.items()} == {
        "segment_calls_2": 2,
        "segment_calls_5": 5,
    }


def test_all_threads_are_those_of_the_device_and_a_point_that_is_another_is_measured_once():
    grid = {"threads": [1, "all", 8], "device": ["cpu", "cuda"]}
    found = points(suite(grid, against=None))
    assert {name: step.threads for name, step in found.stages.items()} == {
        "segment_1threads_cpu": 1,
        "segment_1threads_cuda": 1,
        "segment_allthreads_cpu": 8,
        "segment_allthreads_cuda": 4,
        "segment_8threads_cuda": 8,
    }
    assert found.stages["segment_8threads_cuda"].beside == "segment_allthreads_cpu"


def test_a_file_is_called_by_its_name_in_that_of_a_point():
    grid = {"model": ["pyscale-tiny", "/some/where/Mine.pt"]}
    found = points(suite(grid, versus=None, against=None))
    assert list(found.stages) == ["segment_pyscale_tiny", "segment_mine_pt"]


@pytest.mark.parametrize("name", suite_names())
def test_every_shipped_suite_has_the_name_of_its_file_and_unfolds(name):
    file = load_suite(name)
    assert file.name == name
    # Entries without a grid stay as they are.
    assert (points(file) == file) == (not any(step.grid for step in file.stages.values()))


@pytest.mark.parametrize(
    "grid",
    [
        {"length": [1]},
        {"device": ["gpu"]},
        {"threads": [0]},
        {"threads": [True]},
        {"length_px": [True]},
        {"length_px": []},
        {"length_px": [224, 224]},
        {"model": ["a/w.pt", "b/w.pt"]},
    ],
    ids=str,
)
def test_an_axis_or_value_that_cannot_be_is_refused(grid):
    with refused(UserError):
        points(suite(grid, versus=None, against=None))


ALONE = {"versus": None, "against": None}


@pytest.mark.parametrize(
    ("of", "chosen"),
    [
        (suite({}, **ALONE, stages={"track": ON_CUDA}), {}),
        (suite(), {"lenght_px": (1,)}),
        (load_suite("pipeline"), {"device": ("cpu",)}),
        (suite().model_copy(update={"versus": "devise"}), {}),
        (suite().model_copy(update={"against": "devise"}), {}),
        (suite({}), {}),
        (suite(stages={"contact": {"inputs": {"labels": "segment"}}}), {}),
        (suite(stages={"segment_full_cpu": OTHER}), {}),
    ],
    ids=range(8),
)
def test_a_grid_or_choice_that_cannot_be_is_refused(of, chosen):
    with refused(UserError):
        points(of, chosen)
