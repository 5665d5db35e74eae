"""Windows are joined only where they are of one movie."""

import shutil

import pytest
import tifffile

from movingsquares import write_moving_squares
from pyscale_stages.windows import read_window, same_bytes
from stagetasks import Bench


@pytest.fixture
def bench(tmp_path):
    return Bench("track", tmp_path)


def test_windows_of_copies_of_one_movie_are_joined_and_of_two_movies_of_one_length_are_not(
    bench, tmp_path
):
    movie = write_moving_squares(tmp_path / "movie.ome.tif")
    copy = shutil.copy(movie, tmp_path / "copy.ome.tif")
    other = tmp_path / "other.ome.tif"
    tifffile.imwrite(other, tifffile.imread(movie)[..., ::-1], ome=True, metadata={"axes": "TYX"})
    first, of_copy, of_other = (
        bench.done("run", path, output=path.name.partition(".")[0], frames=frames)
        for path, frames in ((movie, (0, 2)), (copy, (2, 6)), (other, (2, 6)))
    )
    whole = read_window(bench.done("merge", first, of_copy, output="merged"))
    assert whole.frames == (0, 6)
    assert whole.inputs == read_window(first).inputs
    assert set(whole.inputs) == {"labels"}
    bench.refused("merge", first, of_other)


def test_outputs_of_which_one_file_differs_are_not_the_same(tmp_path):
    for folder, last in (("one", "same"), ("two", "same"), ("other", "changed")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "first.txt").write_text("same")
        (tmp_path / folder / "last.txt").write_text(last)
    names = ("first.txt", "last.txt")
    assert same_bytes(tmp_path / "one", tmp_path / "two", names)
    assert not same_bytes(tmp_path / "one", tmp_path / "other", names)
