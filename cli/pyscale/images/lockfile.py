"""The folder that holds images, and `images.lock`: which file each image is, exactly."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from filelock import FileLock
from pydantic import Field, ValidationError

from pyscale.errors import UserError
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.wording import first_problem

LOCK_NAME = "images.lock"


class LockedImage(Record):
    """One image as it was built or pulled."""

    sha256: str = Field(description="Of the SIF, all its bytes")
    size_bytes: int
    content_sha256: str = Field(description="Of what it was built from; see `content.py`")
    pyscale_version: str
    git_commit: str | None = Field(description="Of the stage code, where it is known")
    lock_sha256: str = Field(description="Of the Python lock")
    built_utc: datetime
    engine: str = Field(description="Program and version that built it")
    architecture: str = Field(description="Machine that it runs on, as `uname -m` tells it")
    origin: str = Field("built here", description="Where it came from, if it was pulled")


class ImagesLock(Record):
    """All images of a folder by name."""

    schema_version: int = 1
    images: dict[str, LockedImage] = Field(default_factory=dict)


class ImageFolder:
    """A folder of images with its lock.

    Parameters
    ----------
    path : Path
        The setting `images_folder`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_file = path / LOCK_NAME

    def sif(self, name: str) -> Path:
        """File of an image."""
        return self.path / f"{name}.sif"

    def read_lock(self) -> ImagesLock:
        """Read the lock; an absent one locks nothing.

        Raises
        ------
        UserError
            If the file is no lock.
        """
        try:
            return ImagesLock.model_validate_json(self.lock_file.read_bytes())
        except FileNotFoundError:
            return ImagesLock()
        except ValidationError as error:
            raise UserError(
                f"{self.lock_file} is not a lock of images ({first_problem(error, ImagesLock)}): "
                "remove it and build or pull the images again"
            ) from error

    def record(self, name: str, image: LockedImage) -> None:
        """Lock an image, beside those that others lock at the same moment."""
        self.path.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path / f".{LOCK_NAME}.busy"):
            images = self.read_lock().images | {name: image}
            lock = ImagesLock(images=dict(sorted(images.items())))
            write_atomically(self.lock_file, lock.model_dump_json(indent=1) + "\n")
