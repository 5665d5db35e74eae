from importlib.metadata import EntryPoint

import pytest

from pyscale_stages import registry
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.registry import STAGE_NAMES, load_stage, present_stages


def test_every_stage_is_present_in_an_installation():
    assert present_stages() == STAGE_NAMES
    assert [load_stage(name).name for name in STAGE_NAMES] == list(STAGE_NAMES)


@pytest.fixture
def image(tmp_path):
    """A package with the code of one stage."""
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "stage.py").touch()
    (tmp_path / "contact").mkdir()
    return tmp_path


def test_an_image_has_the_one_stage_whose_code_it_holds_and_tells_so_of_others(image, monkeypatch):
    assert present_stages(image) == ("track",)
    monkeypatch.setattr(registry, "_PACKAGE", image)
    with pytest.raises(MissingPart, match="contact is not in this image, which runs track"):
        load_stage("contact")


def test_an_unknown_stage_is_refused_with_the_nearest_name(monkeypatch):
    with pytest.raises(BadInput, match="unknown stage 'trak': did you mean"):
        load_stage("trak")
    point = EntryPoint("edges", "edges_stage:STAGE", registry.OTHERS)
    monkeypatch.setattr(registry, "others_stages", lambda: {"edges": point})
    with pytest.raises(BadInput, match="did you mean 'edges'"):
        load_stage("edgs")


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
