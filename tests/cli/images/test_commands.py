import json
import subprocess
import sys
from functools import partial

import pytest

from commandline import run_line
from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.commands import image_app
from pyscale.images.content import content_sha256
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


def test_what_is_as_locked_is_listed_with_its_short_sha256_and_verified(run, contact):
    (line,) = [line for line in run("list").stdout.splitlines() if " contact " in line]
    assert sha256_of(contact)[:12] in line
    assert "as locked" in run("verify").stdout
    assert "as locked" in run("verify", "contact", str(contact)).stdout
    (verdict,) = json.loads(run("verify", "contact", "--json").stdout)
    assert verdict == {
        "name": "contact",
        "file": str(contact),
        "state": "as locked",
        "sentence": "",
        "sha256": sha256_of(contact),
    }


def test_verify_ends_with_1_where_an_image_is_not_as_locked(run, contact):
    content = bytearray(contact.read_bytes())
    content[30000] ^= 1
    contact.write_bytes(content)
    table = " ".join(run("verify", code=1).stdout.split())
    assert "changed" in table
    assert "pyscale image build contact --force" in table
    verdicts = json.loads(run("verify", "contact", "track", "--json", code=1).stdout)
    assert [verdict["state"] for verdict in verdicts] == ["changed", "absent"]


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
    run, contact, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "contact" in run("list").stdout
    assert "as locked" in run("verify").stdout
    for words in (
        ["pull", "oras://registry.example/lab"],
        ["build", "contact"],
    ):
        with refused(MissingPart):
            run(*words)


def test_build_says_of_current_images_that_there_is_nothing_to_do(run, contact, lock):
    lock("contact", content_sha256=content_sha256(catalog()["contact"]))
    built = run("build", "contact")
    (line,) = [line for line in built.stdout.splitlines() if "contact" in line]
    assert "nothing to do" in line
    assert sha256_of(contact)[:12] in line


def test_the_commands_load_nothing_heavy_until_one_is_given():
    program = (
        "import sys, pyscale.app\n"
        "heavy = {'pydantic', 'rich.table', 'psutil', 'polars', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
