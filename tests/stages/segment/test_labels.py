import numpy as np
import pytest

from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_joined
from pyscale_stages.segment.labels import LABELS_FILE, LabelStack


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
