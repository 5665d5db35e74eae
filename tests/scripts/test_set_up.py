"""Setting up a checkout: what was installed once is taken again, and only where it is the same."""

import json

import pytest

import set_up

PROJECT = {"requires-python": ">=3.11", "dependencies": ["numpy"], "optional-dependencies": []}


def describe(checkout, tools="", **project):
    """Write the description of a project, of which a part may be another."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in (PROJECT | project).items()]
    (checkout / "pyproject.toml").write_text("\n".join(["[project]", *lines, tools]))


@pytest.fixture(autouse=True)
def checkout(tmp_path, monkeypatch):
    """A checkout whose environment was made, with a program, and the user's cache."""
    (tmp_path / "scripts").mkdir()
    for name in set_up.MADE_FROM:
        (tmp_path / name).write_text(name)
    describe(tmp_path)
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "pytest").write_text(f"#!{venv}/bin/python\n")
    (venv / "bin" / "pytest").chmod(0o755)
    (venv / set_up.MADE_AT).write_text(str(venv))
    for name, value in {"ROOT": tmp_path, "VENV": venv, "CACHE": tmp_path / "cache"}.items():
        monkeypatch.setattr(set_up, name, value)
    return tmp_path


@pytest.mark.parametrize("name", set_up.MADE_FROM)
def test_an_environment_is_kept_by_what_it_is_made_from(checkout, name):
    before = set_up.kept_environment()
    assert set_up.kept_environment() == before
    (checkout / name).write_text("another version")
    assert set_up.kept_environment() != before


def test_other_dependencies_make_another_environment_and_settings_of_tools_do_not(checkout):
    before = set_up.kept_environment()
    describe(checkout, tools="[tool.ruff]\nline-length = 100", name="pyscale-bench")
    assert set_up.kept_environment() == before
    for other in ({"dependencies": ["numpy>=2"]}, {"requires-python": ">=3.12"}):
        describe(checkout, **other)
        assert set_up.kept_environment() != before


def test_programs_of_a_copy_begin_with_its_own_python_and_those_kept_stay(checkout, monkeypatch):
    kept = set_up.kept_environment()
    set_up.keep(kept)
    other = checkout / "another checkout"
    set_up.linked(kept, other)
    monkeypatch.setattr(set_up, "VENV", other)
    set_up.moved()
    program = other / "bin" / "pytest"
    assert program.read_text() == f"#!{other}/bin/python\n"
    assert program.stat().st_mode & 0o111
    assert (kept / "bin" / "pytest").read_text() == f"#!{checkout}/.venv/bin/python\n"


def test_only_the_last_state_is_kept(checkout):
    set_up.keep(first := set_up.kept_environment())
    (checkout / "constraints.txt").write_text("newer")
    set_up.keep(second := set_up.kept_environment())
    assert (first.is_dir(), second.is_dir()) == (False, True)
