from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyscale_stages.loader.factories import factory_of
from pyscale_stages.loader.ownfactory import FOLDER_VARIABLE, folder_of_factory
from pyscale_stages.loader.params import LoaderParams


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "groups_own" / "patches"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "loading.py").write_text("def make(*given):\n    return given\n")
    return package.parent


def own(factory: str = "patches.loading:make") -> LoaderParams:
    return LoaderParams(factory=factory)


def test_the_folder_of_an_own_factory_is_given_to_its_image(folder, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'absent'}::{folder}")
    around = folder_of_factory(own())
    assert around.files == (folder,)
    assert around.variables == {FOLDER_VARIABLE: str(folder)}


def test_shipped_factories_and_unknown_modules_need_no_folder(folder, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert folder_of_factory(own("wsistream")).files == ()
    assert folder_of_factory(own("nowhere.to_be:found")).files == ()


def test_a_factory_is_found_in_the_folder_that_is_named(folder, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert factory_of(own())(["a"], 1, 2, 3, 4) == (["a"], 1, 2, 3, 4)
