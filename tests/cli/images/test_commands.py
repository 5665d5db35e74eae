import json
from functools import partial

import pytest

from commandline import run_line
from pyscale.errors import UserError
from pyscale.images.catalog import catalog, content_sha256
from pyscale.images.commands import image_app
from pyscale.images.lockfile import sha256_of
from pyscale_stages.errors import MissingPart
from refusals import refused


@pytest.fixture
def run(folder, monkeypatch, tmp_path):
    """Run `pyscale image …` on a folder of images, in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(folder.path))
    return partial(run_line, image_app)


def test_list_names_the_folder_and_every_image(run, folder):
    table = run("list").stdout
    assert table.startswith(f"images in {folder.path}\n")
    for name in catalog():
        (line,) = [line for line in table.splitlines() if line.split()[:1] == [name]]
        assert "absent" in line
    told = json.loads(run("list", "--json").stdout)
    assert told["images_folder"] == str(folder.path)
    assert [image["name"] for image in told["images"]] == list(catalog())
    assert {(image["state"], image["sha256"]) for image in told["images"]} == {("absent", None)}
    assert not folder.path.exists()


@pytest.fixture
def current(contact, lock):
    """An image in the folder that is as its lock says, and made from what is here."""
    lock("contact", content_sha256=content_sha256(catalog()["contact"]))
    return contact


def test_what_is_as_locked_is_listed_with_its_short_sha256_and_verified(run, current):
    (line,) = [line for line in run("list").stdout.splitlines() if " contact " in line]
    assert sha256_of(current)[:12] in line
    assert "current" in run("verify").stdout
    (image,) = json.loads(run("verify", "contact", "--json").stdout)["images"]
    assert (image["name"], image["state"], image["sentence"]) == ("contact", "current", "")
    assert (image["path"], image["sha256"]) == (str(current), sha256_of(current))


def test_verify_ends_with_1_where_an_image_is_not_as_locked(run, current):
    content = bytearray(current.read_bytes())
    content[30000] ^= 1
    current.write_bytes(content)
    said = run("verify", code=1)
    assert "changed" in said.stdout
    assert "pyscale image build contact --force" in " ".join(said.stderr.split())
    images = json.loads(run("verify", "contact", "track", "--json", code=1).stdout)["images"]
    assert [image["state"] for image in images] == ["changed", "absent"]


def test_verify_without_any_image_is_refused(run, folder):
    with refused(UserError):
        run("verify")


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "contcat"],
        ["build", "contcat"],
    ],
)
def test_a_misspelt_name_is_refused(run, words):
    with refused(UserError):
        run(*words)


def test_a_place_that_is_none_is_refused(run, contact):
    with refused(UserError):
        run("pull", "contact")


def test_without_a_container_program_images_are_listed_and_verified_all_the_same(
    run, current, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "contact" in run("list").stdout
    assert "current" in run("verify").stdout
    for words in (["pull", "oras://registry.example/lab"], ["build", "track"]):
        with refused(MissingPart):
            run(*words)


def test_build_says_of_current_images_that_there_is_nothing_to_do(run, current):
    built = run("build", "contact")
    assert "nothing to do" in built.stderr
    assert sha256_of(current)[:12] in built.stdout


def test_without_names_images_for_cpus_that_need_no_maven_are_built(run, monkeypatch):
    chosen = []
    monkeypatch.setattr(
        "pyscale.images.build.build", lambda images, *_, **__: chosen.extend(images)
    )
    assert "built only by name: " in run("build").stderr
    names = {definition.name for definition in chosen}
    assert {"register_denoise", "segment", "segment_cellpose3", "contact", "track"} <= names
    assert {definition.device for definition in chosen} == {"cpu"}
    assert "track_trackmate" not in names
