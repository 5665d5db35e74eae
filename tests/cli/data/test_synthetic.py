from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyscale.data.place import dataset_path, synthetic_names
from pyscale.data.synthetic import make_synthetic
from pyscale.errors import UserError

SMALL = {"frames": 2, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}


@pytest.fixture
def make(registry_of: Any, row: Any, data_root: Path, report: Any) -> Any:
    registry = registry_of([row("a.tif", b"a")])

    return lambda name, **changes: make_synthetic(
        name, registry, data_root, SMALL | changes, report
    )


def test_a_synthetic_movie_is_known_by_its_name(
    make: Any, registry_of: Any, row: Any, data_root: Path
) -> None:
    movie = make("dense")
    assert synthetic_names(data_root) == ["dense"]
    assert dataset_path("dense", registry_of([row("a.tif", b"a")]), data_root) == movie


def test_making_it_again_keeps_it_and_other_parameters_are_refused(make: Any) -> None:
    before = make("dense").stat().st_mtime_ns
    assert make("dense").stat().st_mtime_ns == before
    with pytest.raises(
        UserError, match=r"made with other parameters \(seed\): choose another name"
    ):
        make("dense", seed=3)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("../dense", {}, "cannot name a dataset"),
        ("Dense", {}, "small letters"),
        ("cells", {}, "names a dataset that can be fetched"),
        ("dense", {"frmes": 3}, "did you mean 'frames'"),
        ("dense", {"frames": "many"}, "'frames'"),
        ("dense", {"cells": 5000}, "use at most"),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(
    make: Any, data_root: Path, name: str, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        make(name, **changes)
    assert not data_root.exists()


@pytest.mark.parametrize("damage", ["a byte more", "another byte", "no file"])
def test_a_movie_that_changed_on_disk_is_not_passed_as_made(make: Any, damage: str) -> None:
    movie = make("dense")
    content = movie.read_bytes()
    if damage == "no file":
        movie.unlink()
    elif damage == "a byte more":
        movie.write_bytes(content + b"x")
    else:
        movie.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError, match=r"changed on disk .*movie.ome.tif.* remove this folder"):
        make("dense")


@pytest.mark.parametrize(
    ("params", "cells"),
    [
        ({}, 100),
        ({"height_px": 64, "width_px": 64}, 3),
        ({"height_px": "256", "width_px": 256}, 25),
        ({"height_px": 256, "width_px": 256, "radius_px": "5"}, 100),
    ],
)
def test_without_a_number_cells_fill_any_field_alike(
    registry_of: Any, row: Any, data_root: Path, report: Any, params: Any, cells: int
) -> None:
    registry = registry_of([row("a.tif", b"a")])
    params = {"frames": 1, "cell_types": 1} | params
    movie = make_synthetic("dense", registry, data_root, params, report)
    assert json.loads((movie.parent / "synth.json").read_text())["cells"] == cells
