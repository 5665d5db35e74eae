from dataclasses import replace

import numpy as np
import pytest
import tifffile

from pyscale_stages.layout import Layout
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_joined
from pyscale_stages.segment.labels import LABELS_FILE, LabelStack, centre_crop


def test_labels_read_back_as_they_were_added_and_as_uint32_where_a_frame_has_many(tmp_path):
    many = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300)
    few = (many % 50).astype(np.uint16)
    for frames, dtype in (([few, few[::-1]], np.uint16), ([few, many, few], np.uint32)):
        stack = LabelStack()
        for frame in frames:
            stack.add(frame)
        stack.write(tmp_path / "labels.ome.tif")
        labels = tifffile.imread(tmp_path / "labels.ome.tif")
        assert labels.dtype == dtype
        np.testing.assert_array_equal(labels, frames)


def test_joined_labels_are_the_whole_stack_also_where_one_window_has_more_cells(tmp_path):
    many = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300)
    few = (many % 50).astype(np.uint16)
    for parts in (([few], [few[::-1], few]), ([few], [many, few])):
        whole = LabelStack()
        for number, part in enumerate(parts):
            stack = LabelStack()
            for frame in part:
                stack.add(frame)
                whole.add(frame)
            stack.write(tmp_path / f"{number}.ome.tif")
        whole.write(tmp_path / "whole.ome.tif")
        windows = [Movie.open(tmp_path / f"{number}.ome.tif") for number in (0, 1)]
        write_joined(tmp_path / "joined.ome.tif", windows, LabelStack())
        joined = (tmp_path / "joined.ome.tif").read_bytes()
        assert joined == (tmp_path / "whole.ome.tif").read_bytes()


@pytest.fixture(scope="module")
def frames(movie):
    return Movie.open(movie / "movie.ome.tif")


def test_the_crop_is_the_middle_of_the_frame_or_all_of_it(frames):
    frame = np.arange(128 * 144).reshape(128, 144)
    cut = centre_crop(frames, 64).of(frame)
    np.testing.assert_array_equal(cut, frame[32:96, 40:104])
    assert cut.flags["C_CONTIGUOUS"]
    np.testing.assert_array_equal(centre_crop(frames, None).of(frame), frame)
    # An odd rest is larger below and to the right.
    crop = centre_crop(replace(frames, layout=Layout("TYX", (1, 8, 9))), 5)
    assert (crop.top, crop.left, crop.shape_yx) == (1, 2, (5, 5))


@pytest.fixture
def cropped(bench, movie, kept_model):
    windows = ((0, 1), (1, 2))
    return bench.windows(movie / "movie.ome.tif", *windows, movie_frames=2, length_px=96)


def test_a_crop_has_the_labels_of_a_movie_of_that_size(bench, frames, cropped, movie_of):
    small = bench.done("run", movie_of(frames.read(0, 1, channel=0)[:, 16:112, 24:120]))
    assert (cropped[0] / LABELS_FILE).read_bytes() == (small / LABELS_FILE).read_bytes()


def test_crops_are_merged_and_compared_with_the_middle_of_the_truth(bench, movie, cropped):
    merged = bench.done("merge", *cropped, movie_frames=2, length_px=96)
    assert Movie.open(merged / LABELS_FILE).shape_yx == (96, 96)
    quality = bench.quality(merged, movie / "truth" / "camera", movie_frames=2)
    # Of the whole movie it is 0.9: cells that the crop cuts are found less well.
    assert quality["ap_iou50"] >= 0.7
