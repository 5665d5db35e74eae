import numpy as np
import pytest
import tifffile

from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.segment.labels import LABELS_FILE
from pyscale_stages.validarea import VALID_FILE

UNSEEN_PX = 20


@pytest.fixture
def labels_of(bench, tmp_path, kept_model):
    """Segment frames with or without a valid area; give the labels."""

    def run(frames, seen=None, /, **options):
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        (folder / VALID_FILE).unlink(missing_ok=True)
        write_movie(folder / "frames.ome.tif", frames, "TYX")
        if seen is not None:
            write_movie(folder / VALID_FILE, seen, "TYX")
        out = bench.done("run", folder / "frames.ome.tif", **options)
        return tifffile.imread(out / LABELS_FILE)

    return run


@pytest.fixture
def moved(movie):
    """Two frames, the second of which has a strip of zeros, and what of them was seen."""
    frames = Movie.open(movie / "movie.ome.tif").read(0, 2, channel=0)
    seen = np.ones(frames.shape, np.uint8)
    seen[1, :UNSEEN_PX] = 0
    return np.where(seen, frames, 0), seen


@pytest.mark.slow
def test_cells_are_those_of_the_frame_without_its_unseen_strip(labels_of, moved):
    frames, seen = (each[1:] for each in moved)
    labels = [labels_of(frames, given).squeeze()[UNSEEN_PX:] for given in (seen, None)]
    alone = labels_of(frames[:, UNSEEN_PX:]).squeeze()
    by_seen, by_all = (np.mean((one > 0) == (alone > 0)) for one in labels)
    assert by_seen > max(0.98, by_all)


@pytest.mark.slow
def test_a_window_reads_its_own_part_and_an_estimate_of_the_diameter_uses_the_same_limits(
    labels_of, moved
):
    whole = labels_of(*moved)
    assert np.array_equal(labels_of(*moved, frames=(1, 2)).squeeze(), whole[1])
    assert labels_of(*moved, frames=(1, 2), estimate_diameter=True).any()


def test_a_valid_area_of_other_frames_is_refused(bench, moved, movie_of):
    frames, seen = moved
    movie_of(seen[:, 1:], VALID_FILE)
    bench.refused("run", movie_of(frames, "frames.ome.tif"))
