"""What is recorded of the environment of a step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyscale_stages.command.environment import versions_of
from pyscale_stages.command.params import CommandParams
from pyscale_stages.errors import BadInput


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with a package of Python and one of conda."""
    prefix = tmp_path / "environment"
    package = prefix / "lib/python3.12/site-packages/scikit_image-0.25.2.dist-info"
    for folder in (prefix / "bin", prefix / "conda-meta", package):
        folder.mkdir(parents=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: scikit-image\nVersion: 0.25.2\n"
    )
    program = prefix / "bin/segment"
    program.write_text("")
    program.chmod(0o755)
    for name, version in (("fftw", "3.3.10"), ("fftw-static", "9.9")):
        told = {"name": name, "version": version}
        (prefix / f"conda-meta/{name}-{version}-0.json").write_text(json.dumps(told))
    return prefix


def step_of(prefix: Path, *packages: str, named: bool = True) -> CommandParams:
    program = "segment" if named else str(prefix / "bin/segment")
    return CommandParams(
        command=(program, "{input}", "{output}"),
        environment=prefix if named else None,
        packages=packages,
    )


@pytest.mark.parametrize("named", [True, False])
def test_versions_of_packages_are_recorded(environment, named):
    step = step_of(environment, "scikit-image", "fftw", named=named)
    found = {name: told for name, told in versions_of(step).items() if name != "segment"}
    assert found == {"scikit-image": "0.25.2", "fftw": "3.3.10"}


def test_a_package_that_is_not_there_is_named(environment):
    with pytest.raises(BadInput, match="has no package 'stardist': take it out of packages"):
        versions_of(step_of(environment, "stardist"))


def test_an_image_has_no_packages_beside_its_checksum():
    with pytest.raises(ValueError, match="an image is known by its checksum: leave packages out"):
        CommandParams(command="a {input} {output}", image=Path("a.sif"), packages=("fftw",))
