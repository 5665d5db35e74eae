from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pyscale_stages import registry
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.registry import STAGE_NAMES, load_stage, present_stages


def test_every_stage_is_present_in_an_installation():
    assert present_stages() == STAGE_NAMES
    assert [load_stage(name).name for name in STAGE_NAMES] == list(STAGE_NAMES)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A package with the code of one stage."""
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "stage.py").touch()
    (tmp_path / "contact").mkdir()
    return tmp_path


def test_an_image_has_the_one_stage_whose_code_it_holds(image):
    assert present_stages(image) == ("track",)


def test_a_stage_of_another_image_is_told(image, monkeypatch):
    monkeypatch.setattr(registry, "_PACKAGE", image)
    with pytest.raises(MissingPart, match="contact is not in this image, which runs track"):
        load_stage("contact")


def test_an_unknown_stage_is_refused():
    with pytest.raises(BadInput, match="unknown stage 'trak': did you mean"):
        load_stage("trak")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere_at_all:STAGE", "cannot be loaded .ModuleNotFoundError"),
        ("json:JSONDecoder", "is no stage of that name"),
        ("pyscale_stages.contact.stage:STAGE", "is no stage of that name"),
    ],
)
def test_a_package_that_gives_no_such_stage_is_told(value, why, monkeypatch):
    point = EntryPoint("edges", value, registry.OTHERS)
    monkeypatch.setattr(registry, "others_stages", lambda: {"edges": point})
    with pytest.raises(MissingPart, match=f"the stage edges of the package .*{why}"):
        load_stage("edges")


def test_a_misspelt_stage_of_a_package_is_told_its_name(monkeypatch):
    point = EntryPoint("edges", "edges_stage:STAGE", registry.OTHERS)
    monkeypatch.setattr(registry, "others_stages", lambda: {"edges": point})
    with pytest.raises(BadInput, match="did you mean 'edges'"):
        load_stage("edgs")
