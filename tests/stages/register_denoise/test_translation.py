import sys

import numpy as np
import polars as pl
import pytest
import tifffile
from scipy import ndimage

from pyscale_stages.register_denoise import ants_calls, translation
from pyscale_stages.register_denoise.transforms import LinearTransform

SHAPE = (192, 256)
SHIFTS = ((4.3, -2.6), (-7.45, 9.2), (0.5, 0.25), (-12.75, -8.1))


def rotated(image, degrees):
    return ndimage.rotate(image, degrees, reshape=False, order=3, mode="reflect")


def photons_of(image, shift, seed, margin=16):
    """What a camera counts of an image that moved by a shift."""
    cut = slice(margin, -margin)
    moved = ndimage.shift(image.astype(float), shift, order=3)[cut, cut].clip(0)
    return np.random.default_rng(seed).poisson(moved).astype(np.float32)


def errors_px(reference, frames, shifts):
    found = [translation.register(reference, frame) for frame in frames]
    assert None not in found
    at = np.array([(one.linear.ty_px, one.linear.tx_px) for one in found])
    return np.linalg.norm(at - np.array(shifts), axis=1)


def test_shifts_of_a_specimen_without_noise_are_found_to_a_hundredth_of_a_pixel(specimen):
    frames = [specimen(SHAPE, shift) for shift in SHIFTS]
    assert errors_px(specimen(SHAPE), frames, SHIFTS).max() < 0.01


@pytest.mark.parametrize(
    ("file", "photons", "most_px"),
    [
        ("stardist-nuclei/img2d.tif", 100, 0.07),
        ("pc12-registration/pc12-unreg.tif", 1000, 0.015),
        ("hela-tracking/mask000.tif", 1000, 0.01),
    ],
)
def test_shifts_of_real_images_are_found(shared_data, file, photons, most_px):
    image = tifffile.imread(shared_data / file)
    image = image.reshape(-1, *image.shape[-2:])[0, :400, :500].astype(float)
    if "mask" in file:
        image = ndimage.gaussian_filter(np.where(image > 0, 1.0, 0.1), 1.2)
    image *= photons / image.max()
    reference, *frames = (
        photons_of(image, shift, seed) for seed, shift in enumerate([(0, 0), *SHIFTS])
    )
    assert errors_px(reference, frames, SHIFTS).mean() < most_px


@pytest.mark.parametrize("shift", [(60, 0), (-60, 60), (70, -80)])
def test_a_shift_of_a_third_of_the_frame_is_found(specimen, noisy, shift):
    field = specimen((400, 500))
    reference, frame = (
        noisy(field[y : y + 192, x : x + 256], seed).astype(np.float32)
        for seed, (y, x) in enumerate([(100, 120), (100 - shift[0], 120 - shift[1])])
    )
    assert errors_px(reference, [frame], [shift]).max() < 0.1


OTHERWISE = {
    **{f"turned {by}": lambda image, by=by: rotated(image, by) for by in (1, 2, 3, 10)},
    "stretched": lambda image: ndimage.zoom(image, 1.05, order=3)[: SHAPE[0], : SHAPE[1]],
    "empty": lambda image: np.random.default_rng(1).poisson(100, SHAPE).astype(np.float32),
    "no number": lambda image: np.where(image == image.max(), np.float32(np.nan), image),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", OTHERWISE)
def test_a_frame_that_changed_otherwise_is_not_explained_by_a_shift(specimen, how):
    frame = OTHERWISE[how](specimen(SHAPE))
    assert translation.register(specimen(SHAPE), frame) is None


def test_a_shift_moves_a_frame_as_ants_does(tmp_path, specimen):
    linear = LinearTransform(ty_px=2.25, tx_px=-3.5)
    file = tmp_path / "shift.mat"
    ants_calls.write_transform(linear, SHAPE, file)
    channels = [specimen(SHAPE), specimen(SHAPE, (9, 9))]

    by_ants, seen_by_ants = ants_calls.move(channels, (str(file),))
    moved, seen = translation.move(channels, linear)

    assert np.array_equal(seen, seen_by_ants)
    for one, other in zip(moved, by_ants, strict=True):
        assert one.dtype == np.float32
        assert one == pytest.approx(other, abs=0.05)


@pytest.fixture
def turned(movie_of, drifting_pixels, noisy, specimen):
    frame = noisy(rotated(specimen(drifting_pixels.shape[1:]), 3), 3)
    return movie_of(np.concatenate([drifting_pixels[:3], frame[None]]))


def statuses(bench):
    return pl.read_parquet(bench.folder / "out" / "transforms.parquet")["status"].to_list()


def test_a_frame_that_is_handed_over_is_registered_by_ants_and_told(bench, turned):
    result = bench.run("run", turned, backend="fft")
    assert statuses(bench) == ["reference", "registered", "registered", "handed_over"]
    (said,) = result.warnings
    assert said.startswith("1 of 4 frames were registered by ANTs")
    assert "set backend to ants and transform to Rigid" in said


def test_without_ants_it_is_left_where_it_is_and_told(bench, turned, monkeypatch):
    monkeypatch.setitem(sys.modules, "ants", None)
    result = bench.run("run", turned, backend="fft")
    assert statuses(bench) == ["reference", "registered", "registered", "doubtful"]
    (said,) = result.warnings
    assert said.startswith("1 of 4 frames were not moved")
    assert "antspyx, which would register them, is not installed" in said
