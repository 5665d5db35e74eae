"""What `pyscale image inspect` tells of images that were really built."""

import json
import re
import subprocess

import pytest

from commandline import answer_of
from pyscale.images.catalog import catalog
from pyscale.images.engine import IMAGE_PYTHON
from pyscale.images.listing import describe


def names_in(lock):
    """Packages of a lock, by names without their many spellings."""
    return {
        plain(name): version for name, version in re.findall(r"^([\w.-]+)===?(\S+)", lock, re.M)
    }


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(
    params=["contact", "segment_cellpose3", pytest.param(None, marks=pytest.mark.images)]
)
def images(request):
    """Folder of images, and names of those to look at: one, or all others."""
    if request.param is None:
        folder = request.getfixturevalue("built_images")
        return folder, folder.read_lock().images.keys() - {"contact", "segment_cellpose3"}
    return request.getfixturevalue("with_image")(request.param), {request.param}


@pytest.fixture
def contact(with_image):
    return with_image("contact").sif("contact")


@pytest.mark.slow
def test_an_image_says_which_one_it_is_and_holds_the_packages_of_its_lock_and_no_others(
    images, engine
):
    folder, names = images
    assert names
    for name in names:
        locked = folder.read_lock().images[name]
        image = describe(folder.sif(name), engine)
        found = {plain(package): version for package, version in image.python_packages.items()}
        assert found == names_in(catalog()[name].lock_file.read_text()), name
        assert {"python3", "libgomp1", "libc6"} <= set(image.debian_packages)
        assert ("fastremap" in image.copyleft) == ("fastremap" in image.python_packages), name
        assert all("GPL" in licence for licence in image.copyleft.values())
        assert image.labels.image == name
        assert image.labels.stage == catalog()[name].stage
        assert image.labels.content_sha256 == locked.content_sha256
        assert image.labels.lock_sha256 == locked.lock_sha256
        assert image.labels.version == locked.pyscale_version
        assert image.labels.git_commit == locked.git_commit
        assert image.labels.engine == locked.engine
        assert (image.architecture, image.size_bytes) == (locked.architecture, locked.size_bytes)
        assert f"pyscale_stages {catalog()[name].stage}" in image.runscript
        assert "apptainer run" in image.help_text


@pytest.mark.slow
def test_inspect_prints_the_same_for_people_and_programs(contact, capsys):
    words = ("pyscale", "image", "inspect", contact)
    told = json.loads(answer_of(capsys, *words, "--json").out)
    assert told["labels"]["image"] == "contact"
    assert told["python_packages"]["numpy"]
    shown = answer_of(capsys, *words).out
    assert "pyscale_stages contact" in shown
    assert re.search(r"\bnumpy \d", shown)


def test_an_image_keeps_licences_and_packages_are_those_that_it_imports_itself(contact, engine):
    image = describe(contact, engine)

    def inside(*command):
        asked = engine.command("exec", "--containall", str(contact), *command)
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    look = 'for p in "$@"; do [ -s "/usr/share/doc/${p%%:*}/copyright" ] || echo "$p"; done'
    assert inside("sh", "-c", look, "sh", *image.debian_packages) == ""
    version = inside(IMAGE_PYTHON, "-c", "import numpy; print(numpy.__version__)")
    assert image.python_packages["numpy"] == version
