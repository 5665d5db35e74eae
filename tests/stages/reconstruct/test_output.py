import numpy as np
import pytest

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.reconstruct.output import EDGE_PX, read_image
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


SIZE_PX = 128
TILES = {"size_px": SIZE_PX, "tile_px": 64, "overlap_px": 56}
"""Of which some pixel's whole view lies in one window."""


@pytest.fixture
def image():
    return np.random.default_rng(0).standard_normal((3, SIZE_PX, SIZE_PX), np.float32)


@pytest.fixture
def compare(write_output, bench):
    def compared(reference, other):
        one = write_output("one", reference, **TILES)
        return bench.agreement(one, write_output("two", other, 0, 2, **TILES), **TILES)

    return compared


def test_an_image_agrees_with_itself_and_with_one_of_another_edge_which_is_told(compare, image):
    agreement = compare(image, image)
    assert (agreement.same, agreement.identical, agreement.score) == (True, True, 1)
    assert agreement.details == {"interior_deviation": 0, "border_deviation": 0}
    other = image.copy()
    other[:, :2] *= -1
    agreement = compare(image, other)
    assert (agreement.same, agreement.identical, agreement.score) == (True, False, 1)
    expected = 2 * np.abs(image[:, :2]).max() / np.abs(image).max()
    told = {"interior_deviation": 0, "border_deviation": expected}
    assert agreement.details == pytest.approx(told)


def test_a_pixel_that_no_tile_may_change_is_told(compare, image):
    other = image.copy()
    other[1, SIZE_PX // 2, SIZE_PX // 2] += 0.1
    agreement = compare(image, other)
    assert agreement.same
    inner = image[:, EDGE_PX:-EDGE_PX, EDGE_PX:-EDGE_PX]
    assert agreement.score == pytest.approx(1 - 0.1 / np.linalg.norm(inner))
    told = {"interior_deviation": 0.1 / np.abs(image).max(), "border_deviation": 0}
    assert agreement.details == pytest.approx(told, rel=1e-4)


FAULTS = {
    "a tile is missing": lambda image: np.where(MISSING, 0, image),
    "tiles changed places": lambda image: np.roll(image, 64, axis=1),
    "moved by a pixel": lambda image: np.roll(image, 1, axis=2),
}
MISSING = np.zeros((SIZE_PX, SIZE_PX), np.bool_)
MISSING[56:72, 56:72] = True


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_image_is_found(compare, image, fault):
    agreement = compare(image, FAULTS[fault](image))
    assert not agreement.same
    assert agreement.score < agreement.tolerance


def test_images_of_nothing_are_the_same(compare, image):
    nothing = np.zeros_like(image)
    assert compare(nothing, nothing).same
    assert compare(nothing, image).score == 0


def test_images_of_two_sizes_are_not_compared(write_output, bench, image):
    folders = write_output("a", image, **TILES), write_output("b", image[:, 64:, 64:])
    bench.refused("check", *folders)
