"""Verification of an image against `images.lock`, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.data.progress import Report, SilentReport
from pyscale.errors import UserError
from pyscale.images.lockfile import LOCK_NAME, ImageFolder, LockedImage
from pyscale.images.sif import image_labels, read_sif, refuse_foreign
from pyscale_stages import hashing
from pyscale_stages.contract import Record

State = Literal["as locked", "absent", "unlocked", "damaged", "foreign", "changed"]


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


def verdict_on(folder: ImageFolder, name: str, report: Report | None = None) -> Verdict:
    """Compare an image of a folder with the folder's lock."""
    return _verdict(name, folder.sif(name), folder, report)


def verdict_on_file(sif: Path, folder: ImageFolder, report: Report | None = None) -> Verdict:
    """Compare any SIF with the lock that lies beside it, else with that of `folder`.

    Beside its lock an image goes by its file's name, elsewhere by what its labels say.
    """
    if (sif.parent / LOCK_NAME).is_file():
        return _verdict(sif.stem, sif, ImageFolder(sif.parent), report)
    state: State = "damaged" if sif.exists() else "absent"
    try:
        header = read_sif(sif)
        state = "unlocked"
        name = image_labels(sif, header).image
    except UserError as error:
        return Verdict(name=sif.stem, file=sif, state=state, sentence=str(error))
    return _verdict(name, sif, folder, report)


def names_to_verify(folder: ImageFolder) -> list[str]:
    """Every image that a folder's lock names or that lies in it."""
    return sorted({*folder.read_lock().images, *(sif.stem for sif in folder.sifs())})


def _verdict(name: str, sif: Path, folder: ImageFolder, report: Report | None) -> Verdict:
    def verdict(state: State, sentence: str, sha256: str | None = None) -> Verdict:
        return Verdict(name=name, file=sif, state=state, sentence=sentence, sha256=sha256)

    again = f"run `pyscale image build {name} --force`, or pull the image again"
    locked = folder.read_lock().images.get(name)
    if not sif.is_file():
        return verdict(
            "absent",
            f"no image {name} at {sif}: run `pyscale image build {name}`, or pull it",
        )
    try:
        header = read_sif(sif)
    except UserError as error:
        return verdict("damaged", str(error))
    try:
        refuse_foreign(sif, header)
    except UserError as error:
        return verdict("foreign", str(error))
    if locked is None:
        return verdict(
            "unlocked",
            f"{folder.lock_file} has no entry for {name}, so {sif} cannot be verified: {again}, "
            f"or copy its {LOCK_NAME} along with it",
            sha256_of(sif, report),
        )
    if header.size_bytes != locked.size_bytes:
        # A wrong size says enough: there is no need to read the file.
        return verdict(
            "changed",
            f"{sif} has {header.size_bytes} bytes, but {folder.lock_file} records "
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
