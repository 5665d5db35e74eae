from importlib.metadata import EntryPoint

import pytest

from pyscale_stages import registry
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.registry import STAGE_NAMES, load_stage, present_stages
from refusals import refused


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
    with refused(MissingPart):
        load_stage("contact")


def test_an_unknown_stage_is_refused_with_the_nearest_name(monkeypatch):
    with refused(BadInput):
        load_stage("trak")
    point = EntryPoint("edges", "edges_stage:STAGE", registry.OTHERS)
    monkeypatch.setattr(registry, "others_stages", lambda: {"edges": point})
    with refused(BadInput):
        load_stage("edgs")


@pytest.mark.parametrize(
    "value",
    [
        "nowhere_at_all:STAGE",
        "json:JSONDecoder",
        "pyscale_stages.contact.stage:STAGE",
    ],
)
def test_a_package_that_gives_no_such_stage_is_told(value, monkeypatch):
    point = EntryPoint("edges", value, registry.OTHERS)
    monkeypatch.setattr(registry, "others_stages", lambda: {"edges": point})
    with refused(MissingPart):
        load_stage("edges")
