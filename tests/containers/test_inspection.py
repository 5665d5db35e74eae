"""What `pyscale image inspect` tells of images that were really built."""

import json
import re
import subprocess

from atleastone import some
from commandline import answer_of
from pyscale.images.catalog import catalog
from pyscale.images.engine import IMAGE_PYTHON
from pyscale.images.listing import describe
from pyscale.images.partlocks import read_debian


def names_in(lock):
    """Packages of a lock, by names without their many spellings."""
    return {
        plain(name): version for name, version in re.findall(r"^([\w.-]+)===?(\S+)", lock, re.M)
    }


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_an_image_says_which_one_it_is_and_holds_the_packages_of_its_lock_and_no_others(
    built_images, engine
):
    for name, locked in some(built_images.read_lock().images.items()):
        image = describe(built_images.sif(name), engine)
        found = {plain(package): version for package, version in image.python_packages.items()}
        assert found == names_in(catalog()[name].lock_file.read_text()), name
        assert {"python3", "libgomp1", "libc6"} <= set(image.debian_packages)
        # What is written beside the image as it is built.
        assert read_debian(built_images.debian_list(name)) == image.debian_packages
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


def test_inspect_prints_the_same_for_people_and_programs(built_images, capsys):
    name = next(iter(built_images.read_lock().images))
    words = ("pyscale", "image", "inspect", built_images.sif(name))
    told = json.loads(answer_of(capsys, *words, "--json").out)
    assert told["labels"]["image"] == name
    assert told["python_packages"]["numpy"]
    shown = answer_of(capsys, *words).out
    assert f"pyscale_stages {catalog()[name].stage}" in shown
    assert re.search(r"\bnumpy \d", shown)


def test_an_image_keeps_licences_and_packages_are_those_that_it_imports_itself(
    built_images, engine
):
    name = next(iter(built_images.read_lock().images))
    sif = built_images.sif(name)
    image = describe(sif, engine)

    def inside(*command):
        asked = engine.command("exec", "--containall", str(sif), *command)
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    look = 'for p in "$@"; do [ -s "/usr/share/doc/${p%%:*}/copyright" ] || echo "$p"; done'
    assert inside("sh", "-c", look, "sh", *image.debian_packages) == ""
    version = inside(IMAGE_PYTHON, "-c", "import numpy; print(numpy.__version__)")
    assert image.python_packages["numpy"] == version
