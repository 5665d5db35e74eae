import math

import numpy as np
import pytest
from pydantic import ValidationError

from pyscale_stages.synth.params import SynthParams, drift_path
from pyscale_stages.wording import first_problem
from refusals import assert_held


@pytest.mark.parametrize(
    "given",
    [
        {"frames": 0},
        {"radius_px": -3},
        {"radius_px": math.nan},
        {"cells": 0},
        {"cell_types": 3},
        {"speed_px": math.inf},
        {"cels": 10},
        {"cells": 600},
        {"cells": 150, "density_profile": "burst", "density_peak": 4},
        {"radius_px": 150},
        {"max_drift_px": 300},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_one_sentence(given):
    with pytest.raises(ValidationError) as refused:
        SynthParams(**given)
    assert_held(first_problem(refused.value, SynthParams))


def test_drift_walks_in_fractions_of_a_pixel_within_its_limit():
    path = drift_path(SynthParams(frames=2000, cells=1, max_drift_px=3.5))
    assert path.shape == (2000, 2)
    assert path[0].tolist() == [0, 0]
    assert 3.3 < np.abs(path).max() <= 3.5
    assert np.abs(np.diff(path, axis=0)).max() < 3.5
    assert (path[1:] != np.rint(path[1:])).all()
    assert not drift_path(SynthParams(frames=5, max_drift_px=0)).any()
