import numpy as np
import pytest
import tifffile


def frames(dtype=np.uint16, n_frames=3, shape=(9, 11)):
    movie = np.zeros((n_frames, *shape), dtype)
    movie[:, 2:4, 2:5], movie[:, 4:6, 2:5] = 1, 7
    return movie


def with_value(value, dtype):
    movie = frames(dtype)
    movie[2, 0, 0] = value
    return movie


@pytest.mark.parametrize(
    ("movies", "options"),
    [
        ([with_value(-1, np.int16)], {}),
        ([frames()[:, 2:3, 2:3] * 0], {}),
        ([np.ones((1, 1600, 1600), np.uint16)], {}),
        ([frames(), frames(n_frames=4)], {}),
        ([frames(), frames(shape=(9, 12))], {}),
        ([frames(), frames(np.float64)], {}),
        ([frames()], {"backend": "cuda"}),
        ([frames()], {"device": "mps"}),
        ([frames()], {"device": "cuda", "backend": "numpy"}),
    ],
    ids=[
        *("negative", "empty", "mask", "other frames", "another size", "floats"),
        *("value", "device", "backend"),
    ],
)
def test_no_labels_two_movies_that_differ_and_a_wrong_task_are_refused(
    bench, movie_of, movies, options
):
    files = [movie_of(movie, f"{number}.ome.tif") for number, movie in enumerate(movies)]
    bench.refused("run", *files, **options)


def test_labels_beyond_32_bits_and_a_movie_of_several_channels_are_refused(
    bench, tmp_path, movie_of
):
    path = tmp_path / "labels.tif"
    tifffile.imwrite(path, with_value(2**32, np.int64), photometric="minisblack")
    bench.refused("run", path)
    movie = movie_of(np.stack([frames()] * 2, axis=1), axes="TCYX")
    bench.refused("run", movie)
