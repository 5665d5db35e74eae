"""Data that are absent or cannot be read are found before the run."""

import numpy as np
import pytest

from pyscale.doctor.files import data
from pyscale_stages.moviewriter import write_movie


def test_slides_are_counted(plan, tmp_path):
    slides = tmp_path / "slides"
    slides.mkdir()

    def found():
        (finding,) = data(plan(suite="loader", data=str(slides), workers=(1,)))
        return finding

    assert found().status == "problem"
    (slides / "a.svs").touch()
    (slides / "b.zarr").mkdir()
    assert (found().status, found().what) == ("ok", "2 slides")


def test_a_movie_is_opened_as_a_stage_opens_it(plan, tmp_path):
    movie = tmp_path / "movie.ome.tif"
    write_movie(movie, np.zeros((3, 8, 16), np.uint16), "TYX")
    (found,) = data(plan(data=str(movie)))
    assert (found.where, found.what) == (
        str(tmp_path),
        'movie.ome.tif: OME-TIFF, image 0 of 1 "Image0"; 3 of 3 frames, 1 channel, 16 x 8 uint16, '
        "1.25 kB",
    )


@pytest.mark.parametrize(
    ("movie", "status", "do"),
    [
        ("movie.zarr", "problem", ""),
        ("movie.tif", "problem", ""),
        ("no-such-movie", "problem", "pyscale data list"),
        # It would be fetched.
        ("hela-tracking", "warning", "pyscale data fetch hela-tracking"),
        ("cancer-migration", "problem", "pyscale data verify cancer-migration"),
    ],
)
def test_a_movie_that_is_not_here_as_it_should_be(plan, tmp_path, monkeypatch, movie, status, do):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "movie.zarr").mkdir()
    (tmp_path / "movie.tif").write_bytes(b"not a movie")
    changed = tmp_path / "data_folder" / "cancer-migration" / "cancer_cell_migration_crop.tif"
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b"cut short")
    (found,) = data(plan(data=movie))
    assert (found.code, found.status) == ("data.found", status)
    assert found.do
    assert do in found.do
