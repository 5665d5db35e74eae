import shutil

import pytest

from pyscale.images.catalog import catalog
from pyscale.images.content import content_sha256, file_sha256
from pyscale.images.listing import listed_images


@pytest.fixture
def as_now():
    """What the lock says of an image that was built from what is here."""
    contact = catalog()["contact"]
    lock_sha256 = file_sha256(contact.lock_file)
    return {"content_sha256": content_sha256(contact), "lock_sha256": lock_sha256}


def listed(folder, name):
    return next(image for image in listed_images(folder) if image.name == name)


def test_an_image_of_what_is_here_is_current_and_else_says_what_has_changed(
    folder, contact, lock, as_now
):
    locked = lock("contact", **as_now)
    image = listed(folder, "contact")
    assert (image.state, image.because) == ("current", "")
    assert (image.stage, image.device, image.path) == ("contact", "cpu", contact)
    assert (image.size_bytes, image.sha256) == (contact.stat().st_size, locked.sha256)
    assert (image.built_utc, image.origin) == (locked.built_utc, "built here")
    lock("contact", **(as_now | {"content_sha256": "0" * 64}))
    image = listed(folder, "contact")
    assert (image.state, image.because) == ("out of date", "its definition or stage code")
    lock("contact", content_sha256="0" * 64, lock_sha256="0" * 64)
    assert listed(folder, "contact").because == "its Python lock"


def test_an_image_of_another_size_is_changed_on_disk(folder, contact, lock, as_now):
    lock("contact", **as_now)
    contact.write_bytes(contact.read_bytes() + b"x")
    image = listed(folder, "contact")
    assert image.state == "changed on disk"
    assert image.size_bytes == contact.stat().st_size


def test_an_image_without_a_lock_is_unlocked_and_one_that_is_gone_absent_all_the_same(folder, lock):
    folder.make()
    sif = folder.sif("contact")
    sif.write_bytes(b"here")
    image = listed(folder, "contact")
    assert (image.state, image.sha256, image.built_utc) == ("unlocked", None, None)
    lock("contact")
    sif.unlink()
    image = listed(folder, "contact")
    assert (image.state, image.size_bytes, image.sha256) == ("absent", None, None)


def test_images_of_other_names_follow(folder, contact, lock):
    shutil.copy(contact, folder.sif("mine"))
    lock("mine", origin="oras://registry.example/lab/contact:1")
    (folder.path / "foreign.sif").write_bytes(b"text")
    images = listed_images(folder)
    assert [image.name for image in images[len(catalog()) :]] == ["foreign", "mine"]
    foreign, mine = images[-2:]
    assert (foreign.stage, foreign.device, foreign.state) == ("?", "?", "unlocked")
    assert (mine.stage, mine.device, mine.state) == ("?", "?", "current")
    assert mine.origin == "oras://registry.example/lab/contact:1"
