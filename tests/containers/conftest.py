"""Images for tests: the real ones, built or reused, and toys that take less than a second."""

import re

import pytest

from movingsquares import write_moving_squares
from pyscale.doctor.examined import plan_to_examine
from pyscale.doctor.stages import images as images_of
from pyscale.doctor.stages import stages
from pyscale.images.build import build
from pyscale.images.lockfile import ImageFolder
from pyscale.settings import load_settings
from smallsystem import CONTACT, small_system

BASE = '\n%setup\n    mkdir "$APPTAINER_ROOTFS/mnt"\n    : {{ mirror }}\n'
LIBRARIES = "Bootstrap: localimage\nFrom: {{ base }}\n\n%post\n    echo libraries > /libraries\n"
STAGE = """Bootstrap: localimage
From: {{ libraries }}

%files
    code /code

%labels
    org.pyscale.image {{ image }}
    org.pyscale.stage {{ stage }}
    org.pyscale.version {{ version }}
    org.pyscale.git_commit {{ git_commit }}
    org.pyscale.lock_sha256 {{ lock_sha256 }}
    org.pyscale.content_sha256 {{ content_sha256 }}

%post
    echo stage > /stage
    sh -eu /code/after_code.sh
"""


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here; tests that look at it have PYTHONPATH without it."""


@pytest.fixture
def labels(tmp_path):
    """A movie of labels."""
    return write_moving_squares(tmp_path / "labels.ome.tif")


@pytest.fixture
def containers(tmp_path):
    """Definitions of one toy image."""
    folder = tmp_path / "checkout" / "containers"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks" / "contact.txt").write_text("# nothing\n")
    (folder / "base.def").write_text(small_system() + BASE)
    (folder / "libraries.def").write_text(LIBRARIES)
    (folder / "stage.def").write_text(STAGE)
    return folder


@pytest.fixture
def images(tmp_path):
    """An empty folder of images."""
    return ImageFolder(tmp_path / "images")


@pytest.fixture
def look(tmp_path):
    """Ask the images of a suite what they can do, with any setting replaced."""

    def look(folder, suite, **changes):
        own = {"images_folder": folder.path, "runs_folder": tmp_path / "runs", "workers": (1,)}
        plan = plan_to_examine(suite, load_settings(**own | {"runtime": "apptainer"} | changes))
        return {(one.code, one.where): one for one in (*images_of(plan), *stages(plan))}

    return look


@pytest.fixture
def build_toy(engine, containers, images, monkeypatch, capfd):
    """Call it to build the toy image in this process; it tells the layers that were made."""
    del engine
    for module in ("catalog", "build"):
        monkeypatch.setattr(f"pyscale.images.{module}.shipped", lambda _: containers)
    monkeypatch.setattr("pyscale.images.build.fetch_wheels", lambda _, wheels: _make(wheels))
    monkeypatch.setattr("pyscale.images.lockfile.catalog", lambda: {CONTACT.name: CONTACT})
    # Without a base of Debian there is nothing for debootstrap and a mirror to do.
    monkeypatch.setattr("pyscale.images.catalog.machine_mirror", lambda: "file:///nowhere")

    def build_it(folder=images, **options):
        capfd.readouterr()
        build([CONTACT], folder, **options)
        said = capfd.readouterr().err
        return re.findall(r"^== (.*): done in \d+ s$", said, re.MULTILINE)

    return build_it


def _make(wheels):
    wheels.mkdir(parents=True, exist_ok=True)
