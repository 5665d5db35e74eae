import imagecodecs
import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.reconstruct.ownimage import lengths_of
from pyscale_stages.reconstruct.phantoms import phantom
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import grid_of
from refusals import refused


def test_a_made_colour_image_may_be_wider_than_high_and_is_part_of_the_square_one():
    square = phantom(ReconstructParams(size_px=96), 3)
    wide = phantom(ReconstructParams(size_px=96, height_px=40), 3)
    assert wide.shape == (1, 3, 40, 96)
    assert np.array_equal(wide[0], square[0, :, :40])


def test_a_photo_of_ones_own_is_cropped_to_whole_steps_and_goes_from_0_to_1(tmp_path):
    pixels = np.random.default_rng(1).integers(10, 200, (45, 52, 3), np.uint8)
    file = tmp_path / "photo.png"
    file.write_bytes(imagecodecs.png_encode(pixels))
    params = ReconstructParams(image=file, tile_px=16, overlap_px=8)
    found = phantom(params, 0)[0].numpy()
    assert lengths_of(params) == (40, 48)
    largest = pixels[:40, :48].max()
    assert np.allclose(found, pixels[:40, :48].transpose(2, 0, 1) / largest)


def test_a_volume_has_planes_in_place_of_frames_and_one_length(tmp_path):
    volume = np.random.default_rng(2).random((33, 34, 35), np.float32)
    file = tmp_path / "volume.tif"
    tifffile.imwrite(file, volume, metadata={"axes": "ZYX"})
    params = ReconstructParams(image=file, problem="tomography_3d", tile_px=16, overlap_px=8)
    assert phantom(params, 0).shape == (1, 1, 32, 32, 32)
    tifffile.imwrite(file, volume[:20], metadata={"axes": "ZYX"})
    with refused(BadInput):
        lengths_of(params)


def test_an_image_of_one_value_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "grey.tif", np.full((64, 64), 7, np.uint8))
    with refused(BadInput):
        phantom(ReconstructParams(image=tmp_path / "grey.tif"), 0)


def test_more_ranks_than_tiles_are_refused_unless_some_may_idle():
    few = {"size_px": 64, "tile_px": 32, "overlap_px": 8}
    with pytest.raises(BadInput, match="start at most 4 ranks, lower tile_px, or set idle_ranks"):
        grid_of((1, 64, 64), ReconstructParams(**few), 5)
    grid = grid_of((1, 64, 64), ReconstructParams(**few, idle_ranks=True), 5)
    assert [grid.tiling(rank).tiles_here for rank in range(5)] == [1, 1, 1, 1, 0]
