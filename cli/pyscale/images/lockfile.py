"""The folder of images and `images.lock`: which file each is, and whether it still is that."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pyscale.console import bar
from pyscale.errors import UserError, problems_told, refused_by_disk
from pyscale.filelocks import claimed, file_lock
from pyscale.images.catalog import catalog, content_sha256, file_sha256
from pyscale.images.engine import PREFIX, PROGRAM, UNKNOWN, commit_in
from pyscale_stages import hashing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record

LOCK_NAME = "images.lock"
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names that machines give themselves, by those of container programs."""
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

    @property
    def labels(self) -> dict[str, str]:
        """What the image says of itself, so that no container program need be asked."""
        return {
            f"{PREFIX}version": self.pyscale_version,
            f"{PREFIX}git_commit": self.git_commit or UNKNOWN,
            f"{PREFIX}lock_sha256": self.lock_sha256,
            f"{PREFIX}content_sha256": self.content_sha256,
        }


def _lock_entry(sif: Path, labels: Mapping[str, str], origin: str) -> LockedImage:
    """Describe an image that has come to be, by its bytes and by its labels."""
    architecture = labels.get("org.label-schema.build-arch", "")
    return LockedImage(
        sha256=sha256_of(sif),
        size_bytes=sif.stat().st_size,
        content_sha256=labels.get(f"{PREFIX}content_sha256", ""),
        pyscale_version=labels.get(f"{PREFIX}version", ""),
        git_commit=commit_in(labels),
        lock_sha256=labels.get(f"{PREFIX}lock_sha256", ""),
        built_utc=datetime.now(UTC).replace(microsecond=0),
        engine=f"{PROGRAM} {labels.get('org.label-schema.usage.apptainer.version', '?')}",
        architecture=_ARCHITECTURES.get(architecture, architecture),
        origin=origin,
    )


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

    def names(self) -> list[str]:
        """Every image that the lock names or that lies in the folder."""
        return sorted({*self.read_lock().images, *(sif.stem for sif in self.path.glob("*.sif"))})

    def read_lock(self) -> ImagesLock:
        """Read the lock; an absent one locks nothing."""
        try:
            text = self.lock_file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return ImagesLock()
        except OSError as error:
            raise UserError(
                f"{self.lock_file} cannot be read ({error.strerror}): change its permissions, "
                "or name another images_folder"
            ) from error
        after = "): remove it and build or pull the images again"
        with problems_told(ImagesLock, f"{self.lock_file} is not a lock of images (", after):
            return ImagesLock.model_validate_json(text)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write into the folder, made where it is absent; what its disk refuses is a sentence."""
        with refused_by_disk(
            f"{self.path} cannot be written ({{why}}): change its permissions, or name another "
            "folder by the setting images_folder"
        ):
            self.path.mkdir(parents=True, exist_ok=True)
            yield

    def install(
        self, made: Path, name: str, labels: Mapping[str, str], origin: str = "built here"
    ) -> None:
        """Give an image its place, which one before makes way for, and lock it."""
        locked = _lock_entry(made, labels, origin)
        made.replace(self.sif(name))
        # Last, so that an image which a killed build left is not taken for a current one.
        self.record(name, locked)

    def record(self, name: str, image: LockedImage) -> None:
        """Lock an image, beside those that others lock at the same moment."""
        with self.writing(), file_lock(self.path / f".{LOCK_NAME}.busy"):
            images = self.read_lock().images | {name: image}
            lock = ImagesLock(images=dict(sorted(images.items())))
            write_atomically(self.lock_file, lock.model_dump_json(indent=1) + "\n")

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A place on the images' disk for one build or pull at a time, empty before and after."""
        place = self.path / "building"
        waits = f"waiting for another build or pull in {self.path}"
        with self.writing(), claimed(self.path / ".building.busy", waits):
            # What a killed one left.
            remove(place)
            place.mkdir()
            try:
                yield place
            finally:
                remove(place)


def remove(place: Path) -> None:
    """Remove a folder with all that a build left in it, of other users too."""
    shutil.rmtree(place, ignore_errors=True)
    if place.exists():
        # An unpacked image has files of other users, whom this one is in a namespace alone.
        command = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", str(place)]
        subprocess.run(command, check=True)


State = Literal["current", "out of date", "absent", "unlocked", "changed", "foreign"]
AS_LOCKED: tuple[State, ...] = ("current", "out of date")


class FoundImage(Record):
    """One image of a folder, and how it stands."""

    name: str
    stage: str | None = Field(description="None where no stage declares it")
    device: str | None
    state: State = Field(
        description="current; out of date: its definition, Python lock or stage code has changed "
        "since; unlocked: the lock does not name it; changed: its file is not the locked one; "
        "foreign: it is for another kind of machine"
    )
    sentence: str = Field("", description="What is wrong and what to do; empty where all is well")
    path: Path
    size_bytes: int | None
    sha256: str | None = Field(None, description="Of the file, where all of it was read")
    lock: LockedImage | None = Field(description="What the lock says of it")


def sha256_of(sif: Path) -> str:
    """Checksum of all bytes of an image; nothing remembered is trusted."""
    try:
        with bar(sif.name, sif.stat().st_size) as advance:
            return hashing.sha256_of(sif, advance)
    except OSError as error:
        raise UserError(
            f"{sif} cannot be read ({error.strerror}): build or pull the image again"
        ) from error


def look(folder: ImageFolder, name: str, *, reads: bool = False) -> FoundImage:
    """How an image stands, by its size; by all its bytes where it `reads` them."""
    sif, locked, known = folder.sif(name), folder.read_lock().images.get(name), catalog().get(name)
    found = FoundImage(
        name=name,
        stage=known and known.stage,
        device=known and known.device,
        state="current",
        path=sif,
        size_bytes=sif.stat().st_size if sif.is_file() else None,
        lock=locked,
    )

    def told(state: State, sentence: str) -> FoundImage:
        return found.model_copy(update={"state": state, "sentence": sentence})

    again = f"run `pyscale image build {name} --force`, or pull the image again"
    if found.size_bytes is None:
        return told(
            "absent", f"no image {name} at {sif}: run `pyscale image build {name}`, or pull it"
        )
    if locked is None:
        return told(
            "unlocked",
            f"{folder.lock_file} has no entry for {name}, so {sif} cannot be verified: {again}, "
            f"or copy its {LOCK_NAME} along with it",
        )
    here = platform.machine()
    if locked.architecture != here:
        return told(
            "foreign",
            f"{sif} is for {locked.architecture}, but this machine is {here}: build or pull an "
            f"image for {here}",
        )
    if found.size_bytes != locked.size_bytes:
        return told(
            "changed",
            f"{sif} has {found.size_bytes} bytes, but {folder.lock_file} records "
            f"{locked.size_bytes}: {again}",
        )
    if reads:
        sha256 = sha256_of(sif)
        found = found.model_copy(update={"sha256": sha256})
        if sha256 != locked.sha256:
            return told(
                "changed",
                f"{sif} has sha256 {sha256[:12]}…, but {folder.lock_file} records "
                f"{locked.sha256[:12]}…: {again}",
            )
    if known is not None and content_sha256(known) != locked.content_sha256:
        changed = "definition or stage code"
        if file_sha256(known.lock_file) != locked.lock_sha256:
            changed = "Python lock"
        return told(
            "out of date",
            f"{sif} is older than this pyscale, as its {changed} has changed since: run `pyscale "
            f"image build {name}`",
        )
    return found
