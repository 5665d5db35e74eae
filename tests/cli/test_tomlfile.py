"""Suites, sites and what else comes with pyscale are found, or refused in one sentence."""

from pathlib import Path

import pytest

from pyscale import resources as module
from pyscale.errors import UserError
from pyscale.planning.suite import Suite
from pyscale.resources import shipped
from pyscale.tomlfile import file_of, read_toml, shipped_names
from refusals import refused

KINDS = ("suite", "site")


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_with_pyscale_is_known_by_name_and_ones_own_by_its_path(
    kind, tmp_path, monkeypatch
):
    files = {name: file_of(kind, name) for name in shipped_names(kind)}
    assert files
    assert all(file.is_file() and file.stem == name for name, file in files.items())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_of(kind, "mine.toml") == Path("mine.toml")
    assert file_of(kind, "~/mine.toml") == tmp_path / "mine.toml"


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_name_suggests_the_nearest(kind):
    name = shipped_names(kind)[-1]
    expected = f"unknown {kind} '{name[:-1]}' (name your own by the path of its .toml): "
    with pytest.raises(UserError) as refusal:
        file_of(kind, name[:-1])
    assert expected in str(refusal.value)
    assert str(refusal.value).endswith(f": did you mean '{name}'?")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_not_there_and_a_folder_are_named(kind, tmp_path):
    with refused(UserError):
        read_toml(kind, Path("nowhere.toml"), Suite)
    with refused(UserError):
        read_toml(kind, tmp_path, Suite)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"a = ["],
    ids=str,
)
def test_what_is_no_toml_is_called_so(tmp_path, content):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with refused(UserError):
        read_toml("site", path, Suite)


def test_what_comes_with_pyscale_lies_in_a_checkout_or_inside_the_package_of_a_wheel(
    tmp_path, monkeypatch
):
    assert all(shipped(name).is_dir() for name in ("config", "sbatch_templates", "containers"))
    package = tmp_path / "site-packages" / "pyscale"
    (package / "resources" / "config").mkdir(parents=True)
    monkeypatch.setattr(module, "_PACKAGE", package)
    assert shipped("config") == package / "resources" / "config"
    # An installation that lost the folder says so.
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    monkeypatch.setattr(module, "_CHECKOUT", tmp_path)
    with refused(UserError):
        shipped("config")
