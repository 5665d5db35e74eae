from __future__ import annotations

import pytest
from pydantic import ValidationError

from pyscale_stages.register_denoise.params import RegisterDenoiseParams


def test_parameters_survive_json():
    params = RegisterDenoiseParams(transform="SyN", reference_frame=3)
    assert RegisterDenoiseParams.model_validate(params.model_dump(mode="json")) == params


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"iterations": [10]}, "same number of levels, but name 1, 4 and 4"),
        ({"registration": False, "denoiser": "none"}, "denoiser is none"),
        ({"transform": "Similarity"}, "'Translation', 'Rigid', 'Affine' or 'SyN'"),
        ({"reference_frame": -1}, "greater than or equal to 0"),
        ({"sampling_fraction": 0}, "greater than 0"),
        ({"shrink_factors": [0, 4, 2, 1]}, "greater than or equal to 1"),
        ({"iterations": [], "shrink_factors": [], "smoothing_sigmas_px": []}, "at least 1 item"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given, said):
    with pytest.raises(ValidationError, match=said):
        RegisterDenoiseParams.model_validate(given)
