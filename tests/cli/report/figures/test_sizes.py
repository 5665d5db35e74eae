"""Figures over sizes: what is drawn is what was found, and nothing touches."""

import pytest

from drawn import assert_labels_stand_apart, layers
from madeupgrid import made_up
from pyscale.report.figures import NothingToDrawError, call_parts, size_speedup, size_time
from refusals import refused

SIZES = (224, 448, 896, 1344, 2016, 2352)


@pytest.fixture(scope="module")
def both():
    return made_up(sizes=SIZES)


@pytest.fixture(scope="module")
def several():
    """Two models, and N = 1 and 2."""
    return made_up(sizes=SIZES[:4], models=("pyscale-tiny", "cyto3"), workers=(1, 2), repeats=2)


@pytest.mark.slow
@pytest.mark.parametrize("width_mm", [88, 180])
@pytest.mark.parametrize("which", ["both", "several"])
def test_no_label_touches_another(request, which, width_mm):
    results = request.getfixturevalue(which)
    for draw in (size_time, size_speedup, call_parts):
        assert_labels_stand_apart(draw(results, width_mm=width_mm))


def test_one_device_has_times_and_nothing_to_compare_and_one_size_no_lines():
    results = made_up(("cpu",), (224, 448), repeats=1, parts=False)
    assert len(layers(size_time(results), "geom_point")[-1].data) == 2
    with refused(NothingToDrawError):
        size_speedup(results)
    with refused(NothingToDrawError):
        call_parts(results)
    plot = size_time(made_up(sizes=SIZES[:1], repeats=1, references=False))
    assert not layers(plot, "geom_line")
    assert len(layers(plot, "geom_point")) == 1
