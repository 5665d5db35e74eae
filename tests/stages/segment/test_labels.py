"""Label images on their way to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile

from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.segment.labels import LabelStack, label_frames, read_bounds


def test_labels_read_back_as_they_were_added(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 40, (4, 30, 50)).astype(np.uint16)
    stack = LabelStack()
    for frame in frames:
        stack.add(frame)
    stack.write(tmp_path / "labels.ome.tif")
    movie = Movie.open(tmp_path / "labels.ome.tif")
    assert movie.dtype == np.uint16
    np.testing.assert_array_equal(np.stack(list(label_frames(movie, 0, 4))), frames)


def test_a_frame_of_more_than_65535_cells_makes_all_frames_uint32(tmp_path: Path) -> None:
    few = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300) % 50
    many = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300)
    stack = LabelStack()
    for frame in (few.astype(np.uint16), many, few.astype(np.uint16)):
        stack.add(frame)
    stack.write(tmp_path / "labels.ome.tif")
    labels = tifffile.imread(tmp_path / "labels.ome.tif")
    assert labels.dtype == np.uint32
    np.testing.assert_array_equal(labels, [few, many, few])


def test_frames_are_read_in_pieces_that_cover_the_window_once(tmp_path: Path) -> None:
    write_movie(tmp_path / "movie.ome.tif", np.zeros((7, 8, 8), np.uint16), "TYX")
    movie = Movie.open(tmp_path / "movie.ome.tif")
    assert list(read_bounds(movie, 2, 7)) == [(2, 7)]


def test_large_frames_are_read_one_by_one(tmp_path: Path) -> None:
    tifffile.imwrite(
        tmp_path / "large.tif", shape=(3, 8192, 8192), dtype=np.uint16, metadata={"axes": "TYX"}
    )
    movie = Movie.open(tmp_path / "large.tif", axes="TYX")
    assert list(read_bounds(movie, 0, 3)) == [(0, 1), (1, 2), (2, 3)]
