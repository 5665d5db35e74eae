"""What a user runs to get a stage's libraries."""

import shlex
import tomllib
from pathlib import Path

import pytest

from pyscale_stages import libraries
from pyscale_stages.libraries import how_to_install
from pyscale_stages.measure.spans import CONTAINER_VARIABLE
from pyscale_stages.registry import STAGE_NAMES, load_stage

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_packages_are_those_of_the_extras():
    extras = {
        name: tuple(packages)
        for name, packages in PROJECT["optional-dependencies"].items()
        if name not in {"all", "dev", "docs"}
    }
    assert extras == libraries.OF_EXTRA


def test_packages_of_every_stage_come_with_pyscale():
    assert set(libraries.EVERY_STAGE) <= set(PROJECT["dependencies"])


@pytest.mark.parametrize("name", STAGE_NAMES)
def test_each_stage_names_an_extra_that_there_is(name):
    # A step of the user's own needs nothing of ours.
    assert load_stage(name).extra in {*libraries.OF_EXTRA, ""}


def test_libraries_are_named_with_their_versions_as_pip_takes_them():
    assert how_to_install("segment", ["cellpose"]) == "pip install cellpose==3.1.1.3"
    assert shlex.split(how_to_install("loader"))[2:] == list(libraries.OF_EXTRA["loader"])
    said = how_to_install("contact", ["scipy.spatial.distance"])
    assert said == "pip install 'scipy>=1.14.1'"
    assert shlex.split(how_to_install())[2:] == list(libraries.EVERY_STAGE)
    words = shlex.split(how_to_install("track", again=True))
    assert words[2:4] == ["--force-reinstall", "laptrack==0.17.0"]
    assert "numpy<2.1" in words


def test_in_an_image_pip_is_no_remedy(monkeypatch):
    monkeypatch.setenv(CONTAINER_VARIABLE, "1")
    assert how_to_install("segment") == "build or pull the image again"
