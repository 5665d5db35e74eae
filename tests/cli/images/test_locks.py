"""The locks of wheels hold what stages declare, in the versions that pyscale is tested with."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from atleastone import some
from pyscale.images.catalog import catalog

ROOT = Path(__file__).resolve().parents[3]
ALL = pytest.mark.parametrize("definition", catalog().values(), ids=lambda d: d.name)
PIN = re.compile(r"([\w.-]+)(===?)([\w.+!-]+) --hash=sha256:[0-9a-f]{64}")


def pins(definition):
    """Version of each package of a lock."""
    lines = definition.lock_file.read_text().splitlines()
    found = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(found)
    versions = {canonicalize_name(pin[1]): pin[3] for pin in found}
    assert len(versions) == len(found)
    # Builds of torch for other devices are versions that two signs take for the same.
    assert all((pin[2] == "===") == (pin[1] == "torch") for pin in found)
    return versions


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


@ALL
def test_a_lock_meets_what_its_stage_declares_and_tells_no_place(definition):
    versions = pins(definition)
    for wanted in some(map(Requirement, definition.requirements)):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted
    assert re.search(r"//|/\w+/\w+/", definition.lock_file.read_text()) is None


@ALL
def test_a_lock_has_the_versions_that_pyscale_is_tested_with(definition):
    tested = constraints()
    differ = {
        name: (version, tested[name])
        for name, version in pins(definition).items()
        if tested.get(name, version) != version
    }
    if definition.device == "cuda":
        assert differ.pop("torch") == (tested["torch"].partition("+")[0], tested["torch"])
    if definition.name in {"segment", "segment-cuda"}:
        assert differ.pop("cellpose")[0].startswith("4.")
    assert differ == {}


def test_images_for_gpus_get_torch_with_cuda_and_versions_of_cellpose_are_apart():
    for definition in some(catalog().values()):
        versions = pins(definition)
        assert any(key.startswith("nvidia-cu") for key in versions) == (definition.device == "cuda")
        if definition.stage == "segment":
            version = "3." if "cellpose3" in definition.name else "4."
            assert versions["cellpose"].startswith(version), definition.name
