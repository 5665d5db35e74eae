"""A folder of small real images with its lock."""

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


@pytest.fixture
def contact(make_sif, folder, lock):
    """An image in the folder that is as its lock says."""
    sif = make_sif(folder.sif("contact"))
    lock("contact")
    return sif
