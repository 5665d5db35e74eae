"""The stage code of an image: what goes in, and that it is the same on every machine."""

from __future__ import annotations

import ast
import os
import shutil
import stat
from pathlib import Path

import pytest

import pyscale_stages
from pyscale.images.stagecode import code_files, lay_out
from pyscale_stages.registry import STAGE_NAMES

PACKAGE = Path(pyscale_stages.__file__).parent


def described(folder: Path) -> list[tuple[str, int, int, bytes]]:
    return [
        (
            path.relative_to(folder).as_posix(),
            stat.S_IMODE(path.stat().st_mode),
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted((folder, *folder.rglob("*")))
    ]


def test_an_image_holds_the_core_and_its_own_stage_alone() -> None:
    names = set(code_files("contact"))
    assert {
        "pyscale_stages/__main__.py",
        "pyscale_stages/contract.py",
        "pyscale_stages/measure/spans.py",
        "pyscale_stages/contact/stage.py",
    } <= names
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert folders == {"measure", "truth", "contact"}


def module_file(name: str) -> str | None:
    """Path of a module of the package in an image; None where it is none."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file() and file.is_relative_to(PACKAGE):
            return file.relative_to(PACKAGE.parent).as_posix()
    return None


def imported_files(file: Path) -> set[str]:
    """Files of the package that a file imports, wherever in it; movies are made elsewhere."""
    found: set[str | None] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a module may be a module too.
            names = (node.module, *(f"{node.module}.{name.name}" for name in node.names))
            found |= {module_file(name) for name in names}
    return {name for name in found if name and not name.startswith("pyscale_stages/synth/")}


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_all_that_a_stage_imports_is_in_its_image(stage: str) -> None:
    files = code_files(stage)
    for name, path in files.items():
        if path.suffix == ".py":
            assert imported_files(path) <= files.keys(), name


def test_the_embedded_models_go_with_the_segmentation_alone() -> None:
    model = "pyscale_stages/resources/models/pyscale-tiny.pt"
    assert code_files("segment")[model].stat().st_size > 0
    assert model not in code_files("track")


def test_caches_stay_behind(tmp_path: Path) -> None:
    package = tmp_path / "pyscale_stages"
    # Whoever imports a module meanwhile writes into the caches.
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = package / "contact" / "__pycache__"
    cache.mkdir()
    (cache / "stage.cpython-311.pyc").write_bytes(b"x")
    assert not [name for name in code_files("contact", package) if "__pycache__" in name]


def test_two_copies_are_the_same_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        lay_out(code_files("track"), tmp_path / "a")
        os.umask(0o002)
        lay_out(code_files("track"), tmp_path / "b")
    finally:
        os.umask(before)
    assert described(tmp_path / "a") == described(tmp_path / "b")
    assert {mode for _, mode, _, _ in described(tmp_path / "a")} == {0o644, 0o755}
    assert len({time for _, _, time, _ in described(tmp_path / "a")}) == 1


def test_a_stage_that_does_not_exist_is_no_empty_image() -> None:
    with pytest.raises(FileNotFoundError):
        code_files("segmnt")
