"""Locks of Debian packages and of jars: what differs is told, and jars that differ are refused."""

from __future__ import annotations

import hashlib
import runpy
import subprocess
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images import partlocks
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.content import libraries_sha256
from pyscale.images.lockfile import ImageFolder
from pyscale.images.partlocks import (
    BASE,
    JARS_RECORD,
    debian_lock_file,
    debian_text,
    doubts,
    jars_text,
    read_debian,
)
from pyscale.images.parts import fetch_jars

ROOT = Path(__file__).resolve().parents[3]
CONTACT, TRACK, TRACKMATE = (catalog()[name] for name in ("contact", "track", "track_trackmate"))


def built(folder: ImageFolder, definition: ImageDefinition, **changes: str) -> None:
    """Leave the list of an image that was built from the locked versions, but for changes."""
    folder.make()
    own = read_debian(debian_lock_file(definition.name))
    packages = read_debian(debian_lock_file(BASE)) | own | changes
    folder.debian_list(definition.name).write_text(debian_text(packages))


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """Jars of TrackMate, put there by hand."""
    folder = tmp_path / "track_trackmate" / "jars"
    (folder / "deeper").mkdir(parents=True)
    (folder / "deeper" / "imagej-2.16.0.jar").write_bytes(b"imagej")
    (folder / "TrackMate-7.14.0.jar").write_bytes(b"trackmate")
    return folder


@pytest.fixture
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the lock of its jars lies, which does not exist yet."""
    file = tmp_path / "locks" / "track_trackmate.txt"
    file.parent.mkdir()
    monkeypatch.setattr(ImageDefinition, "jars_lock_file", file)
    return file


def test_debian_packages_are_locked_for_the_base_and_what_images_add_to_it() -> None:
    base = read_debian(debian_lock_file(BASE))
    assert {"libc6", "python3", "libgomp1"} <= base.keys()
    for definition in catalog().values():
        own = read_debian(debian_lock_file(definition.name))
        assert set(definition.debian) <= own.keys()
        assert bool(own) == bool(definition.debian)
        assert not own.keys() & base.keys()


def test_an_image_of_the_locked_versions_raises_no_doubt(folder: ImageFolder) -> None:
    built(folder, CONTACT)
    assert doubts(folder, [CONTACT]) == []


def test_what_differs_is_told_once_for_all_images(folder: ImageFolder) -> None:
    for definition in (CONTACT, TRACK):
        built(folder, definition, libc6="9.9", extra="1")
    locked = read_debian(debian_lock_file(BASE))["libc6"]
    (said,) = doubts(folder, [CONTACT, TRACK])
    assert said.startswith("2 Debian packages differ from the locked version (extra 1 instead of ")
    assert f"libc6 9.9 instead of {locked})" in said


def test_a_package_that_an_image_lacks_is_told_and_many_are_cut_short(folder: ImageFolder) -> None:
    folder.make()
    folder.debian_list("track").write_text("libc6=9.9\n")
    (said,) = doubts(folder, [TRACK])
    assert "adduser absent instead of " in said
    assert ", …)" in said


def test_an_image_that_was_not_built_here_is_not_compared(folder: ImageFolder) -> None:
    assert doubts(folder, [CONTACT]) == []


def test_what_was_built_here_can_be_locked(
    folder: ImageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = tmp_path / "locks"
    locks.mkdir()
    monkeypatch.setattr(partlocks, "debian_lock_file", lambda name: locks / f"{name}.txt")
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(folder.path))
    folder.make()
    folder.debian_list("track").write_text("libc6=2\n")
    folder.debian_list("contact").write_text("libc6=2\nllvm=15\n")
    runpy.run_path(str(ROOT / "scripts" / "lock_debian.py"), run_name="__main__")
    written = {path.name: path.read_text() for path in locks.iterdir()}
    assert written == {"base.txt": "libc6=2\n", "contact.txt": "llvm=15\n"}
    assert doubts(folder, [CONTACT, TRACK]) == []


def test_jars_without_a_lock_are_said_to_have_none(folder: ImageFolder, lock_file: Path) -> None:
    (said,) = doubts(folder, [TRACKMATE])
    assert "no locked checksums" in said
    lock_file.touch()
    assert doubts(folder, [TRACKMATE]) == []


def test_checksums_of_jars_are_written_as_sha256sum_reads_them(jars: Path) -> None:
    (jars / JARS_RECORD).write_text(jars_text(jars))
    subprocess.run(["sha256sum", "--check", "--quiet", JARS_RECORD], cwd=jars, check=True)
    assert hashlib.sha256(b"trackmate").hexdigest() in (jars / JARS_RECORD).read_text()


def test_locked_jars_are_taken(jars: Path, lock_file: Path, tmp_path: Path) -> None:
    lock_file.write_text(jars_text(jars))
    fetch_jars(TRACKMATE, tmp_path, print)


@pytest.mark.parametrize("name", ["TrackMate-7.14.0.jar", "more.jar"])
def test_jars_that_are_not_the_locked_ones_are_refused(
    jars: Path, lock_file: Path, tmp_path: Path, name: str
) -> None:
    lock_file.write_text(jars_text(jars))
    (jars / name).write_bytes(b"another")
    with pytest.raises(UserError, match=rf"differ from {lock_file} \({name}\): remove"):
        fetch_jars(TRACKMATE, tmp_path, print)


def test_without_a_lock_jars_must_still_be_those_that_were_fetched(
    jars: Path, lock_file: Path, tmp_path: Path
) -> None:
    (jars / JARS_RECORD).write_text(jars_text(jars))
    fetch_jars(TRACKMATE, tmp_path, print)
    (jars / "deeper" / "imagej-2.16.0.jar").unlink()
    (jars / "imagej-2.16.0.jar").write_bytes(b"imagej")
    with pytest.raises(UserError, match=rf"{JARS_RECORD} \(deeper/imagej-2\.16\.0\.jar, imagej"):
        fetch_jars(TRACKMATE, tmp_path, print)


def test_a_lock_of_jars_is_part_of_what_the_image_is_made_from(lock_file: Path) -> None:
    without = libraries_sha256(TRACKMATE)
    lock_file.write_text("a lock")
    assert libraries_sha256(TRACKMATE) != without
