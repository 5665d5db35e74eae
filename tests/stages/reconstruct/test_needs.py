import json
from io import StringIO

import pytest

from pyscale_stages.reconstruct.stage import NEEDS, ReconstructParams
from pyscale_stages.trying import Trying

SMALL = {"channels": (4, 4, 8, 8), "blocks": 1, "tile_px": 16, "overlap_px": 8, "angles": 4}


@pytest.mark.parametrize(("problem", "size_px"), [("tomography_3d", 32), ("colour_deblur", 64)])
def test_a_small_image_is_reconstructed_and_a_volume_is_smaller(problem, size_px):
    params = ReconstructParams(problem=problem, operators=2, **SMALL)
    request = {
        "stage": "reconstruct",
        "params": params.model_dump(mode="json"),
        "device": "cpu",
        "threads": 1,
        "entry": "image",
    }
    said = StringIO()
    NEEDS.try_out(Trying(request, said))
    step, works = map(json.loads, said.getvalue().splitlines())
    assert step == {"step": "run on a small input on cpu"}
    assert (works["code"], works["where"], works["status"]) == ("stage.works", "image", "ok")
    assert works["what"] == "it ran on a small input on cpu"
