import math

import imagecodecs
import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.reconstruct.images import HEAD_2D, HEAD_3D, image_of, lengths_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from refusals import refused


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_head_holds_the_ellipses_that_were_published(dimensions):
    size = 96
    problem = "tomography_2d" if dimensions == 2 else "tomography_3d"
    head = image_of(ReconstructParams(problem=problem, size_px=size), 0)
    assert head.shape == (1, *(size,) * dimensions)
    assert head.min() == 0
    assert head.max() == 1
    unit_ball = math.pi if dimensions == 2 else 4 / 3 * math.pi
    ellipses = HEAD_2D if dimensions == 2 else HEAD_3D
    volumes = [unit_ball * value * math.prod(rest[:dimensions]) for value, *rest in ellipses]
    assert head.sum() * (2 / size) ** dimensions == pytest.approx(sum(volumes), rel=0.02)


def test_a_made_colour_image_may_be_wider_than_high_and_is_part_of_the_square_one():
    square = image_of(ReconstructParams(size_px=96), 3)
    wide = image_of(ReconstructParams(size_px=96, height_px=40), 3)
    assert wide.shape == (3, 40, 96)
    assert np.array_equal(wide, square[:, :40])


def test_a_photo_of_ones_own_is_cropped_to_whole_steps_and_goes_from_0_to_1(tmp_path):
    pixels = np.random.default_rng(1).integers(10, 200, (45, 52, 3), np.uint8)
    file = tmp_path / "photo.png"
    file.write_bytes(imagecodecs.png_encode(pixels))
    params = ReconstructParams(image=file, tile_px=16, overlap_px=8)
    found = image_of(params, 0)
    assert lengths_of(params) == (40, 48)
    largest = pixels[:40, :48].max()
    assert np.allclose(found, pixels[:40, :48].transpose(2, 0, 1) / largest)


def test_a_volume_has_planes_in_place_of_frames_and_one_length(tmp_path):
    volume = np.random.default_rng(2).random((33, 34, 35), np.float32)
    file = tmp_path / "volume.tif"
    tifffile.imwrite(file, volume, metadata={"axes": "ZYX"})
    params = ReconstructParams(image=file, problem="tomography_3d", tile_px=16, overlap_px=8)
    assert image_of(params, 0).shape == (1, 32, 32, 32)
    tifffile.imwrite(file, volume[:20], metadata={"axes": "ZYX"})
    with refused(BadInput):
        lengths_of(params)


def test_an_image_of_one_value_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "grey.tif", np.full((64, 64), 7, np.uint8))
    with refused(BadInput):
        image_of(ReconstructParams(image=tmp_path / "grey.tif"), 0)
