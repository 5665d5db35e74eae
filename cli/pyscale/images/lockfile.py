"""The folder of images and `images.lock`: which file each is, and whether it still is that."""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from pyscale.data.progress import Report, SilentReport
from pyscale.errors import A_FILE, FULL, READ_ONLY, Sayings, UserError, disk_errors_explained
from pyscale.filelocks import file_lock
from pyscale_stages import hashing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import ResourceExhausted
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

    def sifs(self) -> list[Path]:
        """Every image file that lies in the folder."""
        return sorted(path for path in self.path.glob("*.sif") if not path.name.startswith("."))

    def names(self) -> list[str]:
        """Every image that the lock names or that lies in the folder."""
        return sorted({*self.read_lock().images, *(sif.stem for sif in self.sifs())})

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


_OTHER = "name another folder by the setting images_folder"
_REFUSALS: Sayings = (
    (
        FULL,
        ResourceExhausted,
        "the disk of {folder} filled up: free space there and run the same command again",
    ),
    (
        READ_ONLY,
        UserError,
        "{where} is not writable for this user: change its permissions, or " + _OTHER,
    ),
    (A_FILE, UserError, "{where} is a file, but a folder is needed there: " + _OTHER),
    ("No such file", UserError, "{where} does not exist and cannot be made: " + _OTHER),
)


def folder_errors_explained(folder: Path) -> AbstractContextManager[None]:
    """Turn what the disk refuses inside the block into a sentence."""
    return disk_errors_explained(folder, _REFUSALS)


State = Literal["as locked", "absent", "unlocked", "foreign", "changed"]


class Verdict(Record):
    """What became of one image."""

    name: str
    file: Path
    state: State
    sentence: str = Field("", description="What is wrong and what to do; empty where all is well")
    sha256: str | None = Field(None, description="Of the file, where all of it was read")


def sha256_of(sif: Path, report: Report | None = None) -> str:
    """Checksum of all bytes of an image; nothing remembered is trusted."""
    try:
        with (report or SilentReport()).bar(sif.name, sif.stat().st_size) as advance:
            return hashing.sha256_of(sif, advance)
    except OSError as error:
        raise UserError(
            f"{sif} cannot be read ({error.strerror}): build or pull the image again"
        ) from error


def verify_image(folder: ImageFolder, name: str, report: Report | None = None) -> LockedImage:
    """Make sure that an image is the locked one, whole, and for this machine."""
    verdict = verdict_on(folder, name, report)
    if verdict.state != "as locked":
        raise UserError(verdict.sentence)
    return folder.read_lock().images[name]


def verdict_on_file(sif: Path, folder: ImageFolder, report: Report | None = None) -> Verdict:
    """Compare any SIF with the lock that lies beside it, else with that of `folder`.

    It goes by its file's name, or else by an image of the lock that has its bytes.
    """
    beside = ImageFolder(sif.parent)
    locked_by = beside if beside.lock_file.is_file() else folder
    images = locked_by.read_lock().images
    name = sif.stem
    if name not in images and sif.is_file():
        found = sha256_of(sif, report)
        name = next((each for each, one in images.items() if one.sha256 == found), name)
    return verdict_on(locked_by, name, report, sif)


def verdict_on(
    folder: ImageFolder, name: str, report: Report | None = None, file: Path | None = None
) -> Verdict:
    """Compare an image of a folder, or another file, with the folder's lock."""
    sif = file or folder.sif(name)

    def verdict(state: State, sentence: str, sha256: str | None = None) -> Verdict:
        return Verdict(name=name, file=sif, state=state, sentence=sentence, sha256=sha256)

    again = f"run `pyscale image build {name} --force`, or pull the image again"
    locked = folder.read_lock().images.get(name)
    if not sif.is_file():
        return verdict(
            "absent",
            f"no image {name} at {sif}: run `pyscale image build {name}`, or pull it",
        )
    if locked is None:
        return verdict(
            "unlocked",
            f"{folder.lock_file} has no entry for {name}, so {sif} cannot be verified: {again}, "
            f"or copy its {LOCK_NAME} along with it",
            sha256_of(sif, report),
        )
    here = platform.machine()
    if locked.architecture != here:
        return verdict(
            "foreign",
            f"{sif} is for {locked.architecture}, but this machine is {here}: build or pull an "
            f"image for {here}",
        )
    size_bytes = sif.stat().st_size
    if size_bytes != locked.size_bytes:
        # A wrong size says enough: there is no need to read the file.
        return verdict(
            "changed",
            f"{sif} has {size_bytes} bytes, but {folder.lock_file} records "
            f"{locked.size_bytes}: {again}",
        )
    found = sha256_of(sif, report)
    if found != locked.sha256:
        return verdict(
            "changed",
            f"{sif} has sha256 {found[:12]}…, but {folder.lock_file} records "
            f"{locked.sha256[:12]}…: {again}",
            found,
        )
    return verdict("as locked", "", found)
