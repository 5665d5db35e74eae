from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.images.build import BuildOptions
from pyscale.images.buildlog import BuildEvent
from pyscale.images.catalog import catalog
from pyscale.images.engine import Engine
from pyscale.images.lockfile import ImageFolder
from pyscale.images.selection import Selection, buildable


@pytest.fixture
def choose(folder: ImageFolder, engine: Engine, tmp_path: Path) -> Callable[[], Selection]:
    """Choose among all images, with parts from a folder of the test's own."""
    heard: list[BuildEvent] = []
    options = BuildOptions(wheels=tmp_path / "parts")
    return lambda: buildable(folder, options, heard.append)


def test_images_for_cpus_are_built_and_others_only_by_name(
    choose: Callable[[], Selection],
) -> None:
    selection = choose()
    assert {definition.device for definition in selection.chosen} == {"cpu"}
    chosen = {definition.name for definition in selection.chosen}
    assert {"register_denoise", "segment", "segment_cellpose3", "contact", "track"} <= chosen
    assert {"storage", "decompress", "kernels"} <= chosen
    assert chosen | set(selection.left_out) == set(catalog())
    assert selection.left_out["segment-cuda"] == "it is for cuda: name it to build it"


def test_an_image_whose_java_libraries_are_incomplete_is_left_out_with_its_sentence(
    choose: Callable[[], Selection], tmp_path: Path
) -> None:
    jars = tmp_path / "parts" / "track_trackmate" / "jars"
    jars.mkdir(parents=True)
    (jars / "other-1.0.jar").touch()
    assert "track_trackmate/jars lacks the jars of" in choose().left_out["track_trackmate"]


def test_an_image_whose_java_libraries_lie_there_is_built(
    choose: Callable[[], Selection], tmp_path: Path
) -> None:
    jars = tmp_path / "parts" / "track_trackmate" / "jars"
    jars.mkdir(parents=True)
    for coordinate in catalog()["track_trackmate"].maven:
        _, artifact, version = coordinate.split(":")
        (jars / f"{artifact}-{version}.jar").touch()
    assert "track_trackmate" in {definition.name for definition in choose().chosen}
