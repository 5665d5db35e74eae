from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyscale.data.ensure import find_movie
from pyscale.data.synthetic import make_synthetic
from pyscale.errors import UserError
from pyscale.settings import Settings
from pyscale.suite import load_suite
from pyscale_stages.moviewriter import write_movie

SMALL = {"frames": 3, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}


@pytest.fixture
def find(data_root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Find the movie of settings that name `data`."""
    monkeypatch.chdir(tmp_path)

    def find_named(data: str, mirror: str | None = None, suite: str = "pipeline") -> Any:
        settings = Settings(data=data, data_folder=data_root, mirror=mirror)
        return find_movie(settings, load_suite(suite))

    return find_named


@pytest.mark.parametrize(
    ("name", "frames"),
    [("cancer-migration", 48), ("drosophila-nuclei", 21), ("hela-tracking", 92)],
)
def test_a_real_movie_is_fetched_and_its_frames_counted(
    find: Any, shared_data: Path, name: str, frames: int
) -> None:
    suite = "labels" if name == "hela-tracking" else "pipeline"
    found = find(name, mirror=str(shared_data), suite=suite)
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
        assert found.shape_yx == (64, 64)


def test_a_synthetic_dataset_of_the_registry_is_made_with_its_truth(
    find: Any, made_registry: Any, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyscale.data.ensure.load_registry", lambda _folder: made_registry)
    found = find("cells", mirror="http://127.0.0.1:9")
    assert found.movie == data_root / "cells" / "movie.ome.tif"
    assert found.truth == data_root / "cells" / "truth"
    assert (found.frames, found.shape_yx, found.axes) == (2, (64, 80), "TYX")
    with pytest.raises(UserError, match="cells holds a movie, but the suite labels"):
        find("cells", suite="labels")


@pytest.mark.parametrize(
    ("name", "suite", "sentence"),
    [
        ("bbbc039", "pipeline", "bbbc039 holds single images, but the suite pipeline measures a m"),
        ("neurips-cellseg-tuning", "labels", "single images, but the suite labels measures labels"),
        ("stardist-nuclei", "pipeline_two_channels", "holds single images"),
        ("cmu-1", "pipeline", "cmu-1 holds a slide"),
        ("hela-tracking", "pipeline", "holds labels of a movie, but the suite pipeline measures"),
        ("cancer-migration", "labels", "holds a movie, but the suite labels measures labels of"),
    ],
)
def test_a_dataset_of_another_kind_is_refused_before_it_is_fetched(
    find: Any, data_root: Path, tmp_path: Path, name: str, suite: str, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        find(name, mirror=str(tmp_path / "a mirror that is not there"), suite=suite)
    assert not data_root.exists()


def test_a_synthetic_movie_holds_no_labels_but_its_truth_does(
    find: Any, registry_of: Any, row: Any, data_root: Path, report: Any
) -> None:
    movie = make_synthetic("dense", registry_of([row("a.tif", b"a")]), data_root, SMALL, report)
    for data in ("dense", str(movie.parent)):
        with pytest.raises(UserError, match="holds a movie, but the suite labels"):
            find(data, suite="labels")
    labels = movie.parent / "truth" / "specimen" / "labels_ch0.ome.tif"
    assert find(str(labels), suite="labels").movie == labels


def test_a_movie_of_real_numbers_holds_no_labels(find: Any, tmp_path: Path) -> None:
    write_movie(tmp_path / "own.ome.tif", np.zeros((2, 8, 8), np.float32), "TYX")
    with pytest.raises(UserError, match="holds float32 values, but the suite labels measures"):
        find("own.ome.tif", suite="labels")
    assert find("own.ome.tif").frames == 2


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
