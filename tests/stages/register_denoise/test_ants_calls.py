import numpy as np
import pytest
from scipy import ndimage

from pyscale_stages.register_denoise import ants_calls
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

SHAPE = (96, 128)


@pytest.fixture(autouse=True)
def seed():
    ants_calls.set_seed(0)


def rotated(image, degrees):
    return ndimage.rotate(image, degrees, reshape=False, order=3, mode="reflect")


def test_moving_a_frame_brings_it_onto_the_reference_and_fills_the_rest_with_background(
    tmp_path, specimen
):
    reference, frame = specimen(SHAPE), specimen(SHAPE, (5, 0))
    found = ants_calls.register(reference, frame, RegisterDenoiseParams(), tmp_path)

    (moved,), seen = ants_calls.move([frame], found.files)

    assert np.abs(moved - reference)[:-6].mean() < 0.02 * np.ptp(reference)
    assert not seen[-4:].any()
    assert seen[:-6].all()
    assert moved[~seen] == pytest.approx(np.percentile(frame, 1))


def test_moving_follows_the_convention_of_the_table(tmp_path, specimen):
    reference, frame = specimen(SHAPE), rotated(specimen(SHAPE, (2, -3)), -3)
    params = RegisterDenoiseParams(transform="Affine")
    found = ants_calls.register(reference, frame, params, tmp_path)
    linear = found.linear
    matrix = np.array([[linear.m00, linear.m01], [linear.m10, linear.m11]])
    centre = (np.array(SHAPE) - 1) / 2
    offset = centre + np.array([linear.ty_px, linear.tx_px]) - matrix @ centre

    by_table = ndimage.affine_transform(frame, matrix, offset, order=1)

    (moved,), _ = ants_calls.move([frame], found.files)
    inside = (slice(8, -8), slice(8, -8))
    assert moved[inside] == pytest.approx(by_table[inside], abs=1)


def test_a_deformation_is_measured_and_improves_on_the_affine_part(tmp_path, specimen):
    reference = specimen(SHAPE)
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(float)
    swell = 3 * np.exp(-((y - 48) ** 2 + (x - 64) ** 2) / 400)
    frame = ndimage.map_coordinates(reference, [y + swell, x], order=3, mode="reflect")
    folders = {name: tmp_path / name for name in ("Affine", "SyN")}
    found = {}
    for name, folder in folders.items():
        folder.mkdir()
        params = RegisterDenoiseParams.model_validate({"transform": name})
        found[name] = ants_calls.register(reference, frame, params, folder)

    errors = {
        name: np.abs(ants_calls.move([frame], correction.files)[0][0] - reference).mean()
        for name, correction in found.items()
    }

    assert errors["SyN"] < 0.8 * errors["Affine"]
    assert found["Affine"].warp_max_px == 0
    assert 1 < found["SyN"].warp_max_px < 6
    assert 0 < found["SyN"].warp_mean_px < found["SyN"].warp_max_px
