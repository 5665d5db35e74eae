from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.pythonlocks import WheelPin, lock_text, read_pins

ROOT = Path(__file__).resolve().parents[3]
EXTRA_OF_DEFINITION = {
    "register_denoise": "register_denoise",
    "segment": "segment_cellpose4",
    "segment_cellpose3": "segment",
    "contact": "contact",
    "track": "track",
    "track_trackmate": "track_trackmate",
    "machine": "storage",
    "kernels": "kernels",
    "loader": "loader",
    "reconstruct": "reconstruct",
    "reconstruct_cuda": "reconstruct_astra",
}
ALL = pytest.mark.parametrize("definition", catalog().values(), ids=lambda d: d.name)


def requirements(file: Path) -> list[Requirement]:
    """Requirements of a file and of those it includes."""
    found = []
    for line in file.read_text().splitlines():
        if line.startswith("-r "):
            found += requirements(file.parent / line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            found.append(Requirement(line))
    return found


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


@ALL
def test_a_lock_names_one_wheel_of_each_package_in_order(definition: ImageDefinition) -> None:
    keys = [pin.key for pin in read_pins(definition)]
    assert keys == sorted(set(keys))
    assert len(keys) > 10


@ALL
def test_a_lock_meets_the_requirements_it_was_made_from(definition: ImageDefinition) -> None:
    versions = {pin.key: pin.version for pin in read_pins(definition)}
    for wanted in requirements(definition.requirements_file):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


@ALL
def test_a_lock_has_the_versions_that_pyscale_is_tested_with(definition: ImageDefinition) -> None:
    tested = constraints()
    differ = {
        pin.key: (pin.version, tested[pin.key])
        for pin in read_pins(definition)
        if tested.get(pin.key, pin.version) != pin.version
    }
    if definition.device == "cuda":
        assert differ.pop("torch") == (tested["torch"].partition("+")[0], tested["torch"])
    if definition.definition == "segment":
        assert differ.pop("cellpose")[0].startswith("4.")
    assert differ == {}


@ALL
def test_requirements_say_what_the_project_says(definition: ImageDefinition) -> None:
    extra = EXTRA_OF_DEFINITION[definition.definition]
    said = {
        canonicalize_name(r.name): r.specifier
        for r in map(
            Requirement,
            project()["dependencies"] + project()["optional-dependencies"][extra],
        )
    }
    wanted = {
        canonicalize_name(r.name): r.specifier for r in requirements(definition.requirements_file)
    }
    for line in project()["optional-dependencies"][extra]:
        assert canonicalize_name(Requirement(line).name) in wanted
    for name in wanted.keys() & said.keys():
        assert wanted[name] == said[name], name


def test_images_for_gpus_get_torch_with_cuda_and_others_do_not() -> None:
    for definition in catalog().values():
        keys = {pin.key for pin in read_pins(definition)}
        assert any(key.startswith("nvidia-cu") for key in keys) == (definition.device == "cuda")


def test_versions_of_cellpose_are_apart() -> None:
    versions = {
        definition.name: next(p.version for p in read_pins(definition) if p.key == "cellpose")
        for definition in catalog().values()
        if definition.stage == "segment"
    }
    for name, version in versions.items():
        assert version.startswith("3." if "cellpose3" in name else "4."), name


@ALL
def test_a_lock_tells_no_place_and_how_it_was_made(definition: ImageDefinition) -> None:
    text = definition.lock_file.read_text()
    assert f"requirements/{definition.definition}.in" in text
    assert re.search(r"//|/\w+/\w+/", text) is None


def test_what_is_written_is_read_again() -> None:
    definition = catalog()["contact"]
    pins = read_pins(definition)
    assert lock_text(definition, reversed(pins)) == definition.lock_file.read_text()


def test_a_build_of_torch_is_named_so_that_no_other_is_taken() -> None:
    torch = WheelPin(name="torch", version="2.13.0", sha256="0" * 64)
    other = WheelPin(name="torchvision", version="0.28.0", sha256="0" * 64)
    assert torch.requirement.startswith("torch===2.13.0 ")
    assert other.requirement.startswith("torchvision==0.28.0 ")
