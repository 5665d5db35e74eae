"""Label images on their way to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from pyscale_stages.contract import TaskResult
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.segment.labels import LABELS_FILE, LabelStack, centre_crop

Segment = Callable[..., tuple[int, str]]


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


@pytest.fixture(scope="module")
def frames(movie: Path) -> Movie:
    return Movie.open(movie / "movie.ome.tif")


def test_the_crop_is_the_middle_of_the_frame(frames: Movie) -> None:
    frame = np.arange(128 * 144).reshape(128, 144)
    cut = centre_crop(frames, 64).of(frame)
    np.testing.assert_array_equal(cut, frame[32:96, 40:104])
    assert cut.flags["C_CONTIGUOUS"]


def test_an_odd_rest_is_larger_below_and_to_the_right(frames: Movie) -> None:
    crop = centre_crop(replace(frames, shape_yx=(8, 9)), 5)
    assert (crop.top, crop.left, crop.shape_yx) == (1, 2, (5, 5))


def test_without_a_length_the_crop_is_the_whole_frame(frames: Movie) -> None:
    frame = np.arange(128 * 144).reshape(128, 144)
    np.testing.assert_array_equal(centre_crop(frames, None).of(frame), frame)


def test_a_crop_larger_than_the_frame_is_refused_with_both_sizes(frames: Movie) -> None:
    assert centre_crop(frames, 128).shape_yx == (128, 128)
    with pytest.raises(BadInput, match=r"129 x 129 pixels .* have 144 x 128: set at most 128"):
        centre_crop(frames, 129)


@pytest.fixture
def cropped(segment: Segment, movie: Path, tmp_path: Path) -> list[Path]:
    """Output folders of two windows of one frame each, both of the middle of 96 pixels."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for number, folder in enumerate(folders):
        code, said = segment(
            "run",
            *("--input", movie / "movie.ome.tif", "--output", folder),
            *("--movie-frames", 2, "--frames", f"{number}:{number + 1}"),
            length_px=96,
        )
        assert code == 0, said
    return folders


def test_a_crop_has_the_labels_of_a_movie_of_that_size(
    segment: Segment, frames: Movie, cropped: list[Path], tmp_path: Path
) -> None:
    pixels = frames.read(0, 1, channel=0)[:, 16:112, 24:120]
    write_movie(tmp_path / "small.ome.tif", pixels, "TYX")
    code, said = segment(
        "run", "--input", tmp_path / "small.ome.tif", "--output", tmp_path / "small"
    )
    assert code == 0, said
    assert (cropped[0] / LABELS_FILE).read_bytes() == (
        tmp_path / "small" / LABELS_FILE
    ).read_bytes()


def test_crops_are_merged_and_compared_with_the_middle_of_the_truth(
    segment: Segment, movie: Path, cropped: list[Path], tmp_path: Path
) -> None:
    inputs = [option for folder in cropped for option in ("--input", folder)]
    merged = tmp_path / "merged"
    code, said = segment("merge", *inputs, "--output", merged, "--movie-frames", 2, length_px=96)
    assert code == 0, said
    assert Movie.open(merged / LABELS_FILE).shape_yx == (96, 96)
    code, said = segment(
        "check",
        *("--input", merged, "--input", merged, "--movie-frames", 2),
        *("--truth", movie / "truth" / "camera", "--result", tmp_path / "check.json"),
    )
    assert code == 0, said
    result = TaskResult.model_validate_json((tmp_path / "check.json").read_bytes())
    # Of the whole movie it is 0.9: cells that the crop cuts are found less well.
    assert result.quality["ap_iou50"] >= 0.7
