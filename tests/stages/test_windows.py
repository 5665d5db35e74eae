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


def test_outputs_have_the_same_bytes_only_if_every_file_has(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_bytes(b"1")
        (tmp_path / name / "two").write_bytes(b"2")
    assert same_bytes(tmp_path / "a", tmp_path / "b", ("one", "two"))
    (tmp_path / "b" / "two").write_bytes(b"3")
    assert not same_bytes(tmp_path / "a", tmp_path / "b", ("one", "two"))
    assert same_bytes(tmp_path / "a", tmp_path / "b", ("one",))
