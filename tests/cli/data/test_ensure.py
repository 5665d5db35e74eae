from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyscale.data.ensure import find_movie
from pyscale.data.synthetic import make_synthetic
from pyscale.errors import UserError
from pyscale.settings import Settings

SMALL = {"frames": 3, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}


@pytest.fixture
def find(data_root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Find the movie of settings that name `data`."""
    monkeypatch.chdir(tmp_path)

    def find_named(data: str, mirror: str | None = None) -> Any:
        return find_movie(Settings(data=data, data_folder=data_root, mirror=mirror))

    return find_named


@pytest.mark.parametrize(
    ("name", "frames"),
    [("cancer-migration", 48), ("drosophila-nuclei", 21), ("hela-tracking", 92)],
)
def test_a_real_movie_is_fetched_and_its_frames_counted(
    find: Any, shared_data: Path, name: str, frames: int
) -> None:
    found = find(name, mirror=str(shared_data))
    assert found.frames == frames
    assert found.truth is None
    assert found.movie.exists()


def test_a_synthetic_movie_brings_its_truth(
    find: Any, registry_of: Any, row: Any, data_root: Path, report: Any
) -> None:
    registry = registry_of([row("a.tif", b"a")])
    movie = make_synthetic("dense", registry, data_root, SMALL, report)
    for data in ("dense", str(movie), str(movie.parent)):
        found = find(data)
        assert (found.movie, found.frames, found.truth) == (movie, 3, movie.parent / "truth")


def test_what_is_no_movie_is_one_sentence(find: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.tif").write_text("not a movie")
    with pytest.raises(UserError, match="notes.tif is not a TIFF file"):
        find("notes.tif")


def test_an_unknown_name_is_answered_with_the_nearest(find: Any) -> None:
    with pytest.raises(UserError, match="did you mean 'cancer-migration'"):
        find("cancer-migratoin")


def test_an_unknown_name_is_answered_with_the_synthetic_movies_too(
    find: Any, registry_of: Any, row: Any, data_root: Path, report: Any
) -> None:
    make_synthetic("dense", registry_of([row("a.tif", b"a")]), data_root, SMALL, report)
    with pytest.raises(UserError, match="did you mean 'dense'"):
        find("dens")
