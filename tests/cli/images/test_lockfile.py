from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pyscale.errors import UserError
from pyscale.images.lockfile import ImageFolder, LockedImage


def locked(**changes: Any) -> LockedImage:
    values = {
        "sha256": "a" * 64,
        "size_bytes": 5,
        "content_sha256": "b" * 64,
        "pyscale_version": "0.1.0",
        "git_commit": None,
        "lock_sha256": "c" * 64,
        "built_utc": datetime(2026, 3, 17, tzinfo=UTC),
        "engine": "apptainer 1.4.5",
        "architecture": "x86_64",
    }
    return LockedImage(**(values | changes))


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    return ImageFolder(tmp_path / "images")


def test_an_absent_lock_locks_nothing(folder: ImageFolder) -> None:
    assert folder.read_lock().images == {}
    assert folder.sifs() == []


def test_a_recorded_image_is_read_back_beside_the_others(folder: ImageFolder) -> None:
    folder.record("track", locked(size_bytes=1))
    folder.record("contact", locked(size_bytes=2))
    folder.record("track", locked(size_bytes=3))
    images = folder.read_lock().images
    assert list(images) == ["contact", "track"]
    assert images == {"contact": locked(size_bytes=2), "track": locked(size_bytes=3)}


def test_images_that_are_locked_at_the_same_moment_are_all_kept(folder: ImageFolder) -> None:
    names = [f"image{i}" for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: folder.record(name, locked()), names))
    assert set(folder.read_lock().images) == set(names)


def test_what_is_still_arriving_is_no_image(folder: ImageFolder) -> None:
    folder.make()
    folder.sif("contact").touch()
    (folder.path / ".contact.1f.partial.sif").touch()
    assert folder.sifs() == [folder.sif("contact")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a lock of images"),
        ("{", "is not a lock of images"),
        ("[]", "is not a lock of images"),
        ('{"schema_version": 2}', "'schema_version'"),
        ('{"images": {"contact": {"sha256": "abc"}}}', "'?images.contact"),
        ('{"image": {}}', "did you mean 'images'"),
    ],
)
def test_a_file_that_is_no_lock_is_one_sentence(folder: ImageFolder, text: str, said: str) -> None:
    folder.make()
    folder.lock_file.write_text(text)
    with pytest.raises(UserError, match=said) as raised:
        folder.read_lock()
    assert str(folder.lock_file) in str(raised.value)


def test_a_damaged_lock_is_not_written_over(folder: ImageFolder) -> None:
    folder.make()
    folder.lock_file.write_text("{")
    with pytest.raises(UserError, match="build or pull the images again"):
        folder.record("contact", locked())
    assert folder.lock_file.read_text() == "{"


def test_a_lock_that_is_a_folder_is_one_sentence(folder: ImageFolder) -> None:
    folder.lock_file.mkdir(parents=True)
    with pytest.raises(UserError, match="images.lock cannot be read"):
        folder.read_lock()


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("here")
    folder = ImageFolder(tmp_path / "images")
    assert folder.read_lock().images == {}
    with pytest.raises(UserError, match="images is a file.*images_folder"):
        folder.record("contact", locked())
    with pytest.raises(UserError, match="is a file"):
        ImageFolder(tmp_path / "images" / "below").make()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc on this system")
def test_a_folder_that_cannot_be_made_is_one_sentence() -> None:
    with pytest.raises(UserError, match="/proc/images.*images_folder"):
        ImageFolder(Path("/proc/images")).make()


def test_the_lock_is_plain_json_for_other_tools(folder: ImageFolder) -> None:
    folder.record("contact", locked(origin="oras://registry.example/lab/contact:1"))
    read = json.loads(folder.lock_file.read_text())
    assert read["schema_version"] == 1
    assert read["images"]["contact"]["sha256"] == "a" * 64
    assert read["images"]["contact"]["built_utc"] == "2026-03-17T00:00:00Z"
