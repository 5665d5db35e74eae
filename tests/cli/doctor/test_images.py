"""Images are compared with their lock before a run needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.doctor.findings import Finding
from pyscale.doctor.images import images
from pyscale.doctor.subject import Subject
from pyscale.images.catalog import catalog
from pyscale.images.content import content_sha256
from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale.images.sif import read_sif

SubjectMaker = Callable[..., Subject]
Look = Callable[[], dict[str, Finding]]


@pytest.fixture
def look(subject: SubjectMaker) -> Look:
    def look() -> dict[str, Finding]:
        return {one.check: one for one in images(subject("labels", runtime="apptainer"))}

    return look


@pytest.fixture
def contact(make_sif: Callable[..., Path], tmp_path: Path) -> Path:
    """A small image in the folder of images, which no lock names."""
    return make_sif(tmp_path / "images_folder" / "contact.sif")


def lock(sif: Path, **changes: object) -> None:
    header = read_sif(sif)
    values: dict[str, object] = {
        "sha256": "3" * 64,
        "size_bytes": header.size_bytes,
        "content_sha256": content_sha256(catalog()["contact"]),
        "pyscale_version": "0.1.0",
        "git_commit": None,
        "lock_sha256": "1" * 64,
        "built_utc": header.created_utc,
        "engine": "apptainer 1.4.5",
        "architecture": header.architecture,
    }
    ImageFolder(sif.parent).record("contact", LockedImage.model_validate(values | changes))


def test_absent_images_are_problems_with_the_command_that_builds_them(look: Look) -> None:
    found = look()
    assert set(found) == {"image.contact", "image.track"}
    assert {one.status for one in found.values()} == {"problem"}
    assert found["image.contact"].remedy.startswith("pyscale image build contact")


def test_absent_images_touch_no_native_run(subject: SubjectMaker) -> None:
    found = list(images(subject("labels", runtime="native")))
    assert {one.status for one in found} == {"not applicable"}


def test_an_image_without_lock_is_a_problem(look: Look, contact: Path) -> None:
    assert "no lock records" in look()["image.contact"].sentence


def test_a_locked_image_is_well_and_tells_its_sha256(look: Look, contact: Path) -> None:
    lock(contact)
    found = look()["image.contact"]
    assert (found.status, found.value) == ("ok", "3" * 64)


def test_an_image_older_than_the_code_is_a_warning(look: Look, contact: Path) -> None:
    lock(contact, content_sha256="2" * 64)
    found = look()["image.contact"]
    assert (found.status, found.remedy) == ("warning", "pyscale image build contact")


def test_an_image_that_was_cut_short_is_a_problem(look: Look, contact: Path) -> None:
    lock(contact)
    with contact.open("r+b") as file:
        file.truncate(contact.stat().st_size - 4096)
    assert look()["image.contact"].status == "problem"


def test_a_lock_that_is_none_is_a_problem(look: Look, tmp_path: Path) -> None:
    folder = ImageFolder(tmp_path / "images_folder")
    folder.make()
    folder.lock_file.write_text("not a lock")
    (found,) = look().values()
    assert (found.check, found.status) == ("image.lock", "problem")
