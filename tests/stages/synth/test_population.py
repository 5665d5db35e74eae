import numpy as np
import pytest

from atleastone import some
from pyscale_stages.errors import BadInput
from pyscale_stages.synth import population
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.synth.population import simulate
from refusals import refused

FIELD = SynthParams(seed=1, frames=30, height_px=300, width_px=400, cells=40, radius_px=8)


def in_field(cells, params, cell_type):
    inside = (cells["y_px"] >= 0) & (cells["y_px"] < params.height_px)
    inside &= (cells["x_px"] >= 0) & (cells["x_px"] < params.width_px)
    return int((inside & (cells["cell_type"] == cell_type)).sum())


@pytest.mark.parametrize("profile", ["constant", "ramp", "burst"])
@pytest.mark.parametrize("division_rate", [0.0, 0.1])
def test_the_number_of_cells_follows_the_density_profile(profile, division_rate):
    params = SynthParams(
        **FIELD.model_dump() | {"density_profile": profile, "division_rate": division_rate}
    )
    states = list(simulate(params))
    whole = [len(cells) for cells in states]
    expected = np.array([params.density(t) for t in range(params.frames)])
    # In the domain the number is exact, up to rounding; in the field it is so on average.
    np.testing.assert_allclose(whole / expected, whole[0], rtol=0.03)
    for cell_type in (0, 1):
        seen = np.array([in_field(cells, params, cell_type) for cells in states])
        assert np.mean(seen / expected) == pytest.approx(params.cells, rel=0.15)


def test_track_ids_are_never_used_twice():
    params = FIELD.model_copy(update={"division_rate": 0.1, "density_profile": "burst"})
    last_seen = {}
    for frame, cells in some(enumerate(simulate(params))):
        ids = cells["track_id"].tolist()
        assert len(ids) == len(set(ids))
        for track in ids:
            assert last_seen.get(track, frame - 1) == frame - 1
            last_seen[track] = frame


@pytest.mark.parametrize("most", [400, 30])
def test_running_out_of_track_ids_is_refused(monkeypatch, most):
    monkeypatch.setattr(population, "MAX_TRACK_ID", most)
    params = FIELD.model_copy(update={"division_rate": 0.2})
    with refused(BadInput):
        list(simulate(params))
