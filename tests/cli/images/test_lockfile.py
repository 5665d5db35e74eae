import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images.lockfile import (
    ImageFolder,
    LockedImage,
    sha256_of,
    verdict_on,
    verdict_on_file,
    verify_image,
)
from refusals import refused

LOCKED = LockedImage(
    sha256="a" * 64,
    size_bytes=5,
    content_sha256="b" * 64,
    pyscale_version="0.1.0",
    git_commit=None,
    lock_sha256="c" * 64,
    built_utc=datetime(2026, 3, 17, tzinfo=UTC),
    engine="apptainer 1.4.5",
    architecture="x86_64",
)


def test_a_recorded_image_is_read_back_beside_the_others(folder):
    assert folder.read_lock().images == {}
    assert folder.sifs() == []
    bigger = LOCKED.model_copy(update={"size_bytes": 6})
    for name, image in (("track", LOCKED), ("contact", LOCKED), ("track", bigger)):
        folder.record(name, image)
    images = folder.read_lock().images
    assert list(images.items()) == [("contact", LOCKED), ("track", bigger)]
    # It is plain JSON for other tools.
    read = json.loads(folder.lock_file.read_text())
    assert read["schema_version"] == 1
    assert read["images"]["contact"]["sha256"] == "a" * 64
    assert read["images"]["contact"]["built_utc"] == "2026-03-17T00:00:00Z"


def test_images_that_are_locked_at_the_same_moment_are_all_kept(folder):
    names = [f"image{i}" for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: folder.record(name, LOCKED), names))
    assert set(folder.read_lock().images) == set(names)
    # What is still arriving is no image.
    folder.sif("contact").touch()
    (folder.path / ".contact.1f.partial.sif").touch()
    assert folder.sifs() == [folder.sif("contact")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema_version": 2}',
        '{"images": {"contact": {"sha256": "abc"}}}',
        '{"image": {}}',
    ],
)
def test_a_file_that_is_no_lock_is_one_sentence(folder, text):
    folder.make()
    folder.lock_file.write_text(text)
    with refused(UserError) as raised:
        folder.read_lock()
    assert str(folder.lock_file) in str(raised.value)


def test_a_damaged_lock_is_not_written_over(folder):
    folder.make()
    folder.lock_file.write_text("{")
    with refused(UserError):
        folder.record("contact", LOCKED)
    assert folder.lock_file.read_text() == "{"
    folder.lock_file.unlink()
    folder.lock_file.mkdir()
    with refused(UserError):
        folder.read_lock()


def test_a_folder_that_cannot_be_made_or_is_a_file_is_one_sentence(folder):
    folder.path.write_text("here")
    assert folder.read_lock().images == {}
    with refused(UserError):
        folder.record("contact", LOCKED)
    with refused(UserError):
        ImageFolder(folder.path / "below").make()
    if Path("/proc/self").exists():
        with refused(UserError):
            ImageFolder(Path("/proc/images")).make()


def flip(sif, at):
    """Change one byte and nothing else, the time of the file included."""
    before = sif.stat()
    with sif.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    os.utime(sif, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_one_flipped_byte_in_the_middle_is_found(folder, contact):
    assert verify_image(folder, "contact") == folder.read_lock().images["contact"]
    verdict = verdict_on(folder, "contact")
    assert (verdict.state, verdict.sentence) == ("as locked", "")
    assert verdict.sha256 == sha256_of(contact)
    flip(contact, contact.stat().st_size // 2)
    with refused(UserError):
        verify_image(folder, "contact")
    flip(contact, contact.stat().st_size // 2)
    verify_image(folder, "contact")


def test_an_image_of_another_size_is_judged_unread(folder, contact):
    size_bytes = contact.stat().st_size
    contact.write_bytes(contact.read_bytes() + b"x")
    verdict = verdict_on(folder, "contact")
    assert (verdict.state, verdict.sha256) == ("changed", None)
    assert f"has {size_bytes + 1} bytes, but" in verdict.sentence
    assert f"records {size_bytes}" in verdict.sentence


def test_an_image_that_nothing_locks_is_unlocked_and_one_for_another_machine_foreign(
    folder, contact, lock
):
    folder.lock_file.unlink()
    with refused(UserError):
        verify_image(folder, "contact")
    verdict = verdict_on(folder, "contact")
    assert (verdict.state, verdict.sha256) == ("unlocked", sha256_of(contact))
    lock("contact", architecture="riscv64")
    assert verdict_on(folder, "contact").state == "foreign"


def test_an_absent_image_says_how_to_get_it(folder, contact):
    shutil.copy(contact, folder.sif("mine"))
    contact.unlink()
    assert verdict_on(folder, "contact").state == "absent"
    with refused(UserError):
        verify_image(folder, "contact")
    with refused(UserError):
        verify_image(folder, "track")
    # Everything that is locked or lies there is verified.
    assert folder.names() == ["contact", "mine"]


def test_a_file_is_compared_with_the_lock_beside_it_or_the_image_that_has_its_bytes(
    folder, contact, tmp_path
):
    elsewhere, copy = tmp_path / "any name.sif", tmp_path / "copy"
    shutil.copy(contact, elsewhere)
    shutil.copytree(folder.path, copy)
    verdict = verdict_on_file(elsewhere, folder)
    assert (verdict.name, verdict.file, verdict.state) == ("contact", elsewhere, "as locked")
    flip(elsewhere, 30000)
    assert verdict_on_file(elsewhere, folder).state == "unlocked"
    flip(contact, 30000)
    other = ImageFolder(tmp_path / "none")
    assert verdict_on_file(copy / "contact.sif", other).state == "as locked"
    assert verdict_on_file(contact, ImageFolder(copy)).state == "changed"
    assert verdict_on_file(tmp_path / "absent.sif", folder).state == "absent"
