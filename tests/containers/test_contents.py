"""What lies in images that were really built, and what their labels say of it."""

import json
import re
import subprocess

import pytest

from pyscale.images.catalog import catalog
from pyscale.images.engine import IMAGE_PYTHON, commit_in

LIST_PACKAGES = (
    "import importlib.metadata, json; "
    "print(json.dumps({d.metadata['Name']: d.version for d in importlib.metadata.distributions()}))"
)


def plain(name):
    """Name of a package without its many spellings."""
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
def inside(engine):
    """What a command says in an image."""

    def run(sif, *command):
        asked = engine.command("exec", "--containall", str(sif), *command)
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    return run


@pytest.mark.slow
def test_an_image_says_which_one_it_is_and_holds_the_packages_of_its_lock_and_no_others(
    images, engine, inside
):
    folder, names = images
    assert names
    for name in names:
        locked, definition, sif = folder.read_lock().images[name], catalog()[name], folder.sif(name)
        packages = json.loads(inside(sif, IMAGE_PYTHON, "-c", LIST_PACKAGES))
        pins = re.findall(r"^([\w.-]+)===?(\S+)", definition.lock_file.read_text(), re.M)
        assert {plain(package): version for package, version in packages.items()} == {
            plain(package): version for package, version in pins
        }, name
        labels = engine.labels_of(sif)
        assert labels["org.pyscale.image"] == name
        assert labels["org.pyscale.stage"] == definition.stage
        assert labels["org.pyscale.content_sha256"] == locked.content_sha256
        assert labels["org.pyscale.lock_sha256"] == locked.lock_sha256
        assert labels["org.pyscale.version"] == locked.pyscale_version
        assert commit_in(labels) == locked.git_commit
        assert sif.stat().st_size == locked.size_bytes
        asked = [engine.program, "inspect", "--runscript", "--helpfile", str(sif)]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        assert f"pyscale_stages {definition.stage}" in said
        assert "apptainer run" in said


def test_an_image_keeps_licences_and_imports_its_own_packages(with_image, inside):
    contact = with_image("contact").sif("contact")
    packages = inside(contact, "cut", "-f1", "/opt/pyscale/debian-packages.txt").split()
    assert {"python3", "libgomp1", "libc6", "pocl-opencl-icd"} <= set(packages)
    look = 'for p in "$@"; do [ -s "/usr/share/doc/${p%%:*}/copyright" ] || echo "$p"; done'
    assert inside(contact, "sh", "-c", look, "sh", *packages) == ""
    inside(contact, IMAGE_PYTHON, "-c", "import numpy, pyclesperanto")
