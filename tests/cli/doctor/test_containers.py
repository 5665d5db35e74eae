"""The container program and the images that a run needs are looked for."""

import pytest

from pyscale.doctor.stages import containers, images
from pyscale.images.catalog import catalog, content_sha256
from pyscale.images.lockfile import ImageFolder


def test_a_machine_without_container_program_says_how_to_get_one(plan, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found, *_ = containers(plan(runtime="apptainer"))
    assert (found.code, found.status) == ("container.engine", "problem")
    assert "load its module" in found.do
    assert list(containers(plan(runtime="native"))) == []


@pytest.fixture
def look(plan):
    return lambda: {one.where: one for one in images(plan(runtime="apptainer"))}


@pytest.fixture
def contact(make_sif, tmp_path):
    """A small image in the folder of images, which no lock names."""
    return make_sif(tmp_path / "images_folder" / "contact.sif")


def test_absent_images_are_problems_with_the_command_that_builds_them(look):
    found = look()
    assert set(found) == {"contact", "track"}
    assert {(one.code, one.status) for one in found.values()} == {("image.file", "problem")}
    assert found["contact"].do == "run `pyscale image build contact`, or pull it"


def test_an_image_is_judged_by_its_lock(look, contact, lock_image):
    assert look()["contact"].status == "problem"
    as_now = {"content_sha256": content_sha256(catalog()["contact"])}
    lock_image(contact, **as_now)
    assert look()["contact"].status == "ok"
    lock_image(contact, content_sha256="2" * 64)
    older = look()["contact"]
    assert (older.status, older.do) == ("warning", "run `pyscale image build contact`")
    lock_image(contact, **as_now)
    with contact.open("r+b") as file:
        file.truncate(contact.stat().st_size - 4096)
    assert look()["contact"].status == "problem"


def test_a_lock_that_is_none_is_a_problem(look, tmp_path):
    folder = ImageFolder(tmp_path / "images_folder")
    folder.path.mkdir(parents=True)
    folder.lock_file.write_text("not a lock")
    (found,) = look().values()
    assert (found.code, found.status) == ("image.lock", "problem")
