from pathlib import Path

import pytest
from pydantic import ValidationError

from pyscale_stages.contract import Surroundings
from pyscale_stages.storage.params import StorageParams, camera_of
from pyscale_stages.storage.stage import STAGE
from pyscale_stages.storage.testfiles import particles_by_file


def test_a_stack_fits_a_laptop_or_is_the_published_one_but_for_numbers_that_are_given():
    params = StorageParams()
    assert params.stack_bytes < 300e6
    assert params.shape[0] >= 1000, "fewer bear no 99.9th percentile"
    params = StorageParams(stack="published")
    assert params.shape == (50_000, 256, 500)
    assert params.stack_bytes == 13_107_200_000
    assert params.scale_to_published == 1
    params = StorageParams(stack="published", particles=1_001, particle_side_px=64)
    assert params.shape == (1_001, 64, 500)
    counts = particles_by_file(params)
    assert sum(counts) == 1_001
    assert set(counts) == {2, 3}


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="9 particles cannot lie in 10 files"):
        StorageParams(particles=9)
    with pytest.raises(ValidationError, match="multiple of 4096"):
        StorageParams(block_bytes=5000)


def test_the_ancestors_movies_have_their_true_sizes():
    params = StorageParams(movie_set="published")
    sizes = {kind: camera_of(params, kind) for kind in params.movie_formats}
    assert (sizes["tiff"].frames, sizes["tiff"].width_px) == (70, 11520)
    assert (sizes["mrc"].frames, sizes["mrc"].height_px) == (44, 3838)
    assert (sizes["eer"].frames, sizes["eer"].width_px) == (48, 4096)
    assert camera_of(StorageParams(movie_side_px=64), "eer").width_px == 64


def test_an_image_is_given_the_cache_folder_to_write_into():
    assert STAGE.surroundings(StorageParams()) == Surroundings()
    params = StorageParams(cache_folder=Path("scratch"))
    assert STAGE.surroundings(params) == Surroundings(written=(Path("scratch"),))
