"""What `pyscale image inspect` tells of images that were really built."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from pyscale.images.catalog import catalog
from pyscale.images.engine import IMAGE_PYTHON
from pyscale.images.listing import describe
from pyscale.images.partlocks import read_debian


def names_in(lock: str) -> dict[str, str]:
    """Packages of a lock, by names without their many spellings."""
    return {
        plain(name): version for name, version in re.findall(r"^([\w.-]+)===?(\S+)", lock, re.M)
    }


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_an_image_holds_the_packages_of_its_lock_and_no_others(built_images, engine):
    for name in built_images.read_lock().images:
        image = describe(built_images.sif(name), engine)
        found = {plain(package): version for package, version in image.python_packages.items()}
        assert found == names_in(catalog()[name].lock_file.read_text()), name
        assert {"python3", "libgomp1", "libc6"} <= set(image.debian_packages)
        # What is written beside the image as it is built.
        assert read_debian(built_images.debian_list(name)) == image.debian_packages


def test_an_image_says_which_one_it_is_and_what_it_was_built_from(built_images, engine):
    for name, locked in built_images.read_lock().images.items():
        image = describe(built_images.sif(name), engine)
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


@pytest.mark.parametrize("json_wanted", [False, True])
def test_inspect_prints_the_same_for_people_and_programs(built_images, json_wanted):
    name = next(iter(built_images.read_lock().images))
    command = [sys.executable, "-m", "pyscale", "image", "inspect", str(built_images.sif(name))]
    done = subprocess.run(
        [*command, *(["--json"] if json_wanted else [])], capture_output=True, text=True, check=True
    )
    if json_wanted:
        told = json.loads(done.stdout)
        assert told["labels"]["image"] == name
        assert told["python_packages"]["numpy"]
    else:
        assert f"pyscale_stages {catalog()[name].stage}" in done.stdout
        assert re.search(r"\bnumpy \d", done.stdout)


def test_an_image_keeps_the_licences_of_its_debian_packages(built_images, engine):
    name = next(iter(built_images.read_lock().images))
    sif = built_images.sif(name)
    look = 'for p in "$@"; do [ -s "/usr/share/doc/${p%%:*}/copyright" ] || echo "$p"; done'
    packages = describe(sif, engine).debian_packages
    asked = engine.command("exec", "--containall", str(sif), "sh", "-c", look, "sh", *packages)
    answer = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_packages_under_the_gpl_or_lgpl_are_named(built_images, engine):
    for name in built_images.read_lock().images:
        image = describe(built_images.sif(name), engine)
        assert ("fastremap" in image.copyleft) == ("fastremap" in image.python_packages), name
        assert all("GPL" in licence for licence in image.copyleft.values())


def test_packages_are_those_that_the_image_itself_imports(built_images, engine):
    name = next(iter(built_images.read_lock().images))
    sif = built_images.sif(name)
    asked = engine.command(
        "exec",
        "--containall",
        str(sif),
        IMAGE_PYTHON,
        "-c",
        "import numpy; print(numpy.__version__)",
    )
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert describe(sif, engine).python_packages["numpy"] == answer
