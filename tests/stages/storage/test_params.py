import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from pyscale_stages.contract import Surroundings
from pyscale_stages.decompress.params import DecompressParams
from pyscale_stages.storage.params import StorageParams, camera_of
from pyscale_stages.storage.stage import STAGE
from pyscale_stages.storage.testfiles import particles_by_file

ROOT = Path(__file__).resolve().parents[3]


def published(stage):
    """Parameters of a stage in the suite with CryoSPARC's sizes."""
    suite = ROOT / "config" / "suites" / "system_as_published.toml"
    return tomllib.loads(suite.read_text())["stages"][stage]["params"]


def test_a_stack_fits_a_laptop_or_is_the_published_one_and_lies_in_files_of_equal_size():
    params = StorageParams()
    assert params.stack_bytes < 300e6
    assert params.particles >= 1000, "fewer bear no 99.9th percentile"
    params = StorageParams(**published("storage"))
    assert params.stack_bytes == 13_107_200_000
    assert params.scale_to_published == 1
    counts = particles_by_file(StorageParams(particles=1_001, particle_files=500))
    assert sum(counts) == 1_001
    assert set(counts) == {2, 3}


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="9 particles cannot lie in 10 files"):
        StorageParams(particles=9)
    with pytest.raises(ValidationError, match="multiple of 4096"):
        StorageParams(block_bytes=5000)


def test_the_ancestors_movies_have_their_true_sizes_in_both_stages():
    params = StorageParams(**published("storage"))
    sizes = {kind: camera_of(params, kind) for kind in params.movie_formats}
    assert (sizes["tiff"].frames, sizes["tiff"].width_px) == (70, 11520)
    assert (sizes["mrc"].frames, sizes["mrc"].height_px) == (44, 3838)
    assert (sizes["eer"].frames, sizes["eer"].width_px) == (48, 4096)
    assert DecompressParams(**published("decompress")).cameras == sizes
    assert camera_of(StorageParams(movie_side_px=64), "eer").width_px == 64


def test_an_image_is_given_the_cache_folder_to_write_into():
    assert STAGE.surroundings(StorageParams()) == Surroundings()
    params = StorageParams(cache_folder=Path("scratch"))
    assert STAGE.surroundings(params) == Surroundings(written=(Path("scratch"),))
