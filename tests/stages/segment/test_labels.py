"""Label images on their way to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile

from pyscale_stages.movie import Movie
from pyscale_stages.segment.labels import LabelStack


def test_labels_read_back_as_they_were_added(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 40, (4, 30, 50)).astype(np.uint16)
    stack = LabelStack()
    for frame in frames:
        stack.add(frame)
    stack.write(tmp_path / "labels.ome.tif")
    movie = Movie.open(tmp_path / "labels.ome.tif")
    assert movie.dtype == np.uint16
    np.testing.assert_array_equal(np.stack(list(movie.frames(0, 4, channel=0))), frames)


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
