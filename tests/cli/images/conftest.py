"""A folder of images with its lock."""

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
def contact(folder, lock):
    """A file in the folder that is as its lock says."""
    folder.path.mkdir()
    sif = folder.sif("contact")
    sif.write_bytes(bytes(40_000))
    lock("contact")
    return sif
