"""The folder that holds images, and `images.lock`: which file each image is, exactly."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from pyscale.errors import UserError
from pyscale.filelocks import file_lock
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.wording import first_problem

LOCK_NAME = "images.lock"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class LockedImage(Record):
    """One image as it was built or pulled."""

    sha256: Sha256 = Field(description="Of the SIF, all its bytes")
    size_bytes: int = Field(ge=0)
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

    schema_version: Literal[1] = 1
    images: dict[str, LockedImage] = Field(default_factory=dict)


class ImageFolder:
    """A folder of images with its lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_file = path / LOCK_NAME

    def sif(self, name: str) -> Path:
        """File of an image."""
        return self.path / f"{name}.sif"

    def debian_list(self, name: str) -> Path:
        """File beside an image that was built here: its Debian packages with their versions."""
        return self.path / f"{name}.debian.txt"

    def sifs(self) -> list[Path]:
        """Every image file that lies in the folder."""
        return sorted(path for path in self.path.glob("*.sif") if not path.name.startswith("."))

    def read_lock(self) -> ImagesLock:
        """Read the lock; an absent one locks nothing."""
        try:
            return ImagesLock.model_validate_json(self.lock_file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return ImagesLock()
        except OSError as error:
            raise UserError(
                f"{self.lock_file} cannot be read ({error.strerror}): change its permissions, "
                "or name another images_folder"
            ) from error
        except ValidationError as error:
            raise UserError(
                f"{self.lock_file} is not a lock of images ({first_problem(error, ImagesLock)}): "
                "remove it and build or pull the images again"
            ) from error

    def record(self, name: str, image: LockedImage) -> None:
        """Lock an image, beside those that others lock at the same moment."""
        self.make()
        with folder_errors_explained(self.path), file_lock(self.path / f".{LOCK_NAME}.busy"):
            images = self.read_lock().images | {name: image}
            lock = ImagesLock(images=dict(sorted(images.items())))
            write_atomically(self.lock_file, lock.model_dump_json(indent=1) + "\n")

    def make(self) -> None:
        """Make the folder where it is absent."""
        with folder_errors_explained(self.path):
            self.path.mkdir(parents=True, exist_ok=True)


@contextmanager
def folder_errors_explained(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses inside the block into a sentence; a full disk has its own."""
    other = "name another folder by the setting images_folder"
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        where = error.filename or folder
        raise UserError(f"{where} is a file, but a folder is needed there: {other}") from (error)
    except PermissionError as error:
        where = error.filename or folder
        raise UserError(
            f"{where} is not writable for this user: change its permissions, or {other}"
        ) from error
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.ENOENT}:
            raise
        where = error.filename or folder
        raise UserError(f"{where} cannot be written ({error.strerror}): {other}") from error
