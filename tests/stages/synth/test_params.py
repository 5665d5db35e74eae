import math

import numpy as np
import pytest
from pydantic import ValidationError

from pyscale_stages.synth.drift import drift_path
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.wording import first_problem


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"frames": 0}, "'frames': input should be greater than or equal to 1 (given: 0)"),
        ({"radius_px": -3}, "'radius_px': input should be greater than or equal to 3 (given: -3)"),
        ({"radius_px": math.nan}, "'radius_px': input should be less than or equal to 200"),
        ({"cells": 0}, "'cells': input should be greater than or equal to 1 (given: 0)"),
        ({"cell_types": 3}, "'cell_types': input should be 1 or 2 (given: 3)"),
        ({"speed_px": math.inf}, "a speed_px of inf crosses a field of 512 x 512 pixels"),
        ({"cels": 10}, "unknown key 'cels'; did you mean 'cells'?"),
        ({"cells": 600}, "600 cells of radius 10 px (2 type(s), density up to 1) do not fit"),
        (
            {"cells": 150, "density_profile": "burst", "density_peak": 4},
            "150 cells of radius 10 px (2 type(s), density up to 4) do not fit 512 x 512 pixels: "
            "use at most 71 cells, smaller ones, or a larger field",
        ),
        ({"radius_px": 150}, "cells of radius_px 150 do not fit a field of 512 x 512 pixels"),
        ({"max_drift_px": 300}, "a max_drift_px of 300 leaves no common field"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(given, sentence):
    with pytest.raises(ValidationError) as refused:
        SynthParams(**given)
    said = first_problem(refused.value, SynthParams)
    assert said.startswith(sentence)
    assert "\n" not in said


def test_as_many_cells_as_the_refusal_names_do_fit():
    SynthParams(cells=71, cell_types=2, density_profile="burst", density_peak=4)
    with pytest.raises(ValidationError):
        SynthParams(cells=72, cell_types=2, density_profile="burst", density_peak=4)


def test_a_ramp_is_straight_and_a_burst_peaks_at_two_thirds():
    ramp = SynthParams(frames=11, cells=10, density_profile="ramp", density_peak=3)
    np.testing.assert_allclose([ramp.density(t) for t in range(11)], np.linspace(1, 3, 11))
    burst = SynthParams(frames=61, cells=10, density_profile="burst", density_peak=5)
    curve = [burst.density(t) for t in range(61)]
    assert int(np.argmax(curve)) == 40
    assert max(curve) == 5
    assert curve[0] == pytest.approx(1, abs=1e-3)
    assert np.median(curve) < 2


def test_drift_walks_in_fractions_of_a_pixel_within_its_limit():
    path = drift_path(SynthParams(frames=2000, cells=1, max_drift_px=3.5))
    assert path.shape == (2000, 2)
    assert path[0].tolist() == [0, 0]
    assert 3.3 < np.abs(path).max() <= 3.5
    assert np.abs(np.diff(path, axis=0)).max() < 3.5
    assert (path[1:] != np.rint(path[1:])).all()
    assert not drift_path(SynthParams(frames=5, max_drift_px=0)).any()
