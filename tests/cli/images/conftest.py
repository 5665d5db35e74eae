"""A folder of small real images with its lock."""

import shutil
from pathlib import Path

import pytest

from pyscale.images.lockfile import ImageFolder


@pytest.fixture
def folder(tmp_path):
    """A folder of images that does not exist yet."""
    return ImageFolder(tmp_path / "images")


@pytest.fixture
def lock(folder, lock_image):
    """Lock an image of the folder by its name, with any field changed."""
    return lambda name, **changes: lock_image(folder.sif(name), **changes)


@pytest.fixture(scope="session")
def small_sif(make_sif, tmp_path_factory):
    """An image that is built once, and only copied."""
    return make_sif(tmp_path_factory.mktemp("image") / "contact.sif")


@pytest.fixture
def contact(small_sif, folder, lock):
    """An image in the folder that is as its lock says."""
    folder.make()
    sif = Path(shutil.copy(small_sif, folder.sif("contact")))
    lock("contact")
    return sif
