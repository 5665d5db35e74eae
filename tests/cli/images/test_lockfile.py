import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images.catalog import catalog, content_sha256, file_sha256
from pyscale.images.lockfile import ImageFolder, LockedImage, look, sha256_of
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"schema_version": 2}',
        '{"images": {"contact": {"sha256": "abc"}}}',
        '{"image": {}}',
    ],
)
def test_a_file_that_is_no_lock_is_one_sentence(folder, text):
    folder.path.mkdir()
    folder.lock_file.write_text(text)
    with refused(UserError) as raised:
        folder.read_lock()
    assert str(folder.lock_file) in str(raised.value)


def test_a_damaged_lock_is_not_written_over(folder):
    folder.path.mkdir()
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
    if Path("/proc/self").exists():
        with refused(UserError):
            ImageFolder(Path("/proc/images")).record("contact", LOCKED)


@pytest.fixture
def as_now():
    """What the lock says of an image that was built from what is here."""
    contact = catalog()["contact"]
    lock_sha256 = file_sha256(contact.lock_file)
    return {"content_sha256": content_sha256(contact), "lock_sha256": lock_sha256}


def read(folder, name="contact"):
    """How an image stands by all its bytes."""
    return look(folder, name, reads=True)


def test_an_image_of_what_is_here_is_current_and_else_says_what_has_changed(
    folder, contact, lock, as_now
):
    locked = lock("contact", **as_now)
    image = look(folder, "contact")
    assert (image.state, image.sentence, image.sha256) == ("current", "", None)
    assert (image.stage, image.device, image.path) == ("contact", "cpu", contact)
    assert (image.size_bytes, image.lock) == (contact.stat().st_size, locked)
    assert read(folder).sha256 == sha256_of(contact)
    lock("contact", **(as_now | {"content_sha256": "0" * 64}))
    image = look(folder, "contact")
    assert image.state == "out of date"
    assert "its definition or stage code has changed" in image.sentence
    lock("contact", content_sha256="0" * 64, lock_sha256="0" * 64)
    assert "its Python lock has changed" in look(folder, "contact").sentence


def test_an_image_of_another_size_is_judged_unread(folder, contact):
    size_bytes = contact.stat().st_size
    contact.write_bytes(contact.read_bytes() + b"x")
    image = read(folder)
    assert (image.state, image.sha256) == ("changed", None)
    assert f"has {size_bytes + 1} bytes, but" in image.sentence
    assert f"records {size_bytes}" in image.sentence


def test_an_absent_image_says_how_to_get_it_and_others_than_those_of_stages_are_known(
    folder, contact
):
    shutil.copy(contact, folder.sif("mine"))
    contact.unlink()
    image = look(folder, "contact")
    assert (image.state, image.size_bytes) == ("absent", None)
    assert "run `pyscale image build contact`, or pull it" in image.sentence
    # Everything that is locked or lies there has a name.
    assert folder.names() == ["contact", "mine"]
    mine = look(folder, "mine")
    assert (mine.stage, mine.device, mine.state) == (None, None, "unlocked")
