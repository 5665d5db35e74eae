import numpy as np
import pytest

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.reconstruct.output import read_image
from pyscale_stages.reconstruct.stage import IMAGE
from pyscale_stages.windows import read_window
from refusals import refused

GREY = np.full((3, 32, 32), 0.5, np.float32)


def noise(*shape, seed=0):
    """Values of both signs, none like another."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("shape", [(3, 40, 32), (1, 32, 32), (3, 32, 4), (1, 16, 24, 32)])
def test_an_image_is_read_as_it_was_written(write_output, shape):
    image = noise(*shape)
    assert np.array_equal(read_image(write_output("a", image)), image)


@pytest.mark.parametrize("kept", [0, 4, 100, 300, -9000])
def test_an_image_that_was_cut_short_is_refused(write_output, kept):
    folder = write_output("a", noise(3, 32, 32))
    (folder / IMAGE).write_bytes((folder / IMAGE).read_bytes()[:kept])
    with refused(BadInput):
        read_image(folder)


def test_another_image_is_refused(tmp_path):
    import tifffile

    tifffile.imwrite(tmp_path / IMAGE, np.zeros((3, 32, 32), np.uint16))
    with refused(BadInput):
        read_image(tmp_path)


def test_an_image_without_numbers_is_never_written(write_output, tmp_path):
    image = noise(3, 32, 32)
    image[1, 2, 3] = np.nan
    with refused(StageError):
        write_output("a", image)
    assert not list(tmp_path.rglob("*.tif"))


def test_the_image_of_the_first_rank_is_that_of_all(write_output, bench):
    second = write_output("w1", None, 1, 2)
    first = write_output("w0", GREY, 0, 2)
    result = bench.run("merge", second, first)
    assert result.error is None
    assert [output.name for output in result.outputs] == [IMAGE, "window.json"]
    assert (bench.folder / "out" / IMAGE).read_bytes() == (first / IMAGE).read_bytes()
    whole = read_window(bench.folder / "out")
    assert (whole.frames, whole.movie_frames) == ((0, 2), 2)


@pytest.mark.parametrize("second", [(1, 3), (0, 2)], ids=str)
def test_ranks_of_two_trials_are_no_image(write_output, bench, second):
    folders = write_output("w0", GREY, 0, 2), write_output("w1", GREY, *second)
    bench.refused("merge", *folders)
    assert not (bench.folder / "refused").exists()


def test_ranks_of_other_parameters_and_an_image_that_was_cut_short_are_not_joined(
    write_output, bench
):
    bench.refused("merge", write_output("w0", GREY, sigma=0.1))
    folder = write_output("w0", GREY)
    (folder / IMAGE).write_bytes((folder / IMAGE).read_bytes()[:500])
    bench.refused("merge", folder)
    assert not (bench.folder / "refused").exists()
