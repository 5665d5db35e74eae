from pathlib import Path

import pytest
from pydantic import ValidationError

from pyscale_stages.contract import Surroundings
from pyscale_stages.storage.params import StorageParams
from pyscale_stages.storage.stage import STAGE


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="9 particles cannot lie in 10 files"):
        StorageParams(particles=9)
    with pytest.raises(ValidationError, match="multiple of 4096"):
        StorageParams(block_bytes=5000)


def test_an_image_is_given_the_cache_folder_to_write_into():
    assert STAGE.surroundings(StorageParams()) == Surroundings()
    params = StorageParams(cache_folder=Path("scratch"))
    assert STAGE.surroundings(params) == Surroundings(written=(Path("scratch"),))
