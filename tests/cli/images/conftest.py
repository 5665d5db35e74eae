"""A folder of small real images with its lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale.images.sif import read_sif
from pyscale_stages.hashing import sha256_of


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    """A folder of images that does not exist yet."""
    return ImageFolder(tmp_path / "images")


@pytest.fixture
def lock(folder: ImageFolder) -> Callable[..., LockedImage]:
    """Lock an image of the folder as it is, with any field changed."""

    def record(name: str, **changes: object) -> LockedImage:
        header = read_sif(folder.sif(name))
        values: dict[str, object] = {
            "sha256": sha256_of(folder.sif(name)),
            "size_bytes": header.size_bytes,
            "content_sha256": "2" * 64,
            "pyscale_version": "0.1.0",
            "git_commit": None,
            "lock_sha256": "1" * 64,
            "built_utc": header.created_utc,
            "engine": "apptainer 1.4.5",
            "architecture": header.architecture,
        }
        locked = LockedImage.model_validate(values | changes)
        folder.record(name, locked)
        return locked

    return record


@pytest.fixture
def contact(
    make_sif: Callable[..., Path], folder: ImageFolder, lock: Callable[..., LockedImage]
) -> Path:
    """An image in the folder that is as its lock says."""
    sif = make_sif(folder.sif("contact"))
    lock("contact")
    return sif
