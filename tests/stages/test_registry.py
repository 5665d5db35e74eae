from __future__ import annotations

from pathlib import Path

import pytest

from pyscale_stages import registry
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.registry import STAGE_NAMES, load_stage, present_stages


def test_every_stage_is_present_in_an_installation() -> None:
    assert present_stages() == STAGE_NAMES
    assert [load_stage(name).name for name in STAGE_NAMES] == list(STAGE_NAMES)


def test_an_image_has_the_one_stage_whose_code_it_holds(tmp_path: Path) -> None:
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "stage.py").touch()
    (tmp_path / "contact").mkdir()
    assert present_stages(tmp_path) == ("track",)


def test_a_stage_of_another_image_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "present_stages", lambda: ("track",))
    with pytest.raises(MissingPart, match="contact is not in this image, which runs track"):
        load_stage("contact")


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no stage 'trak': did you mean"):
        load_stage("trak")
