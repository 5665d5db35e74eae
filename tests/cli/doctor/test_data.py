"""A movie that cannot be read, or whose name gets in the way, is found before the run."""

import numpy as np
import pytest

from pyscale.doctor.data import data, names
from pyscale_stages.moviewriter import write_movie


@pytest.fixture
def look(subject):
    def look(movie):
        return {finding.check: finding for finding in data(subject(data=str(movie)))}

    return look


def movie_at(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_movie(path, np.zeros((3, 8, 16), np.uint16), "TYX")
    return path


def test_slides_are_counted(subject, tmp_path):
    slides = tmp_path / "slides"
    slides.mkdir()
    (slides / "a.svs").touch()
    (slides / "b.zarr").mkdir()

    def found():
        return next(iter(data(subject(suite="loader", data=str(slides), workers=(1,)))))

    assert found().check == "data.slides"
    assert "2 slides" in found().sentence
    (slides / "a.svs").unlink()
    (slides / "b.zarr").rmdir()
    assert found().status == "problem"
    assert "holds no slides" in found().sentence


def test_a_movie_is_opened_as_a_stage_opens_it(look, tmp_path):
    found = look(movie_at(tmp_path / "movie.ome.tif"))
    assert "3 frames of 8 x 16 px" in found["data.movie"].sentence
    assert found["data.names"].status == "ok"


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        ("my movie.ome.tif", "blanks"),
        ("well[A1].ome.tif", "[, ]"),
        ("µ.ome.tif", "non-ASCII characters"),
        ("a:b,c.ome.tif", ",, :"),
    ],
)
def test_names_that_tools_take_apart_are_a_warning(look, tmp_path, name, signs):
    found = look(movie_at(tmp_path / name))
    assert found["data.movie"].status == "ok"
    assert found["data.names"].status == "warning"
    assert f" {signs} (" in found["data.names"].sentence


def test_names_inside_a_folder_of_frames_are_looked_at(tmp_path):
    for frame in range(3):
        (tmp_path / f"frame {frame}.tif").touch()
    assert names(tmp_path).sentence.startswith("3 of its names hold blanks")


@pytest.mark.parametrize(
    ("movie", "status", "said"),
    [
        ("movie.zarr", "problem", "a folder of chunks"),
        ("movie.tif", "problem", "movie.tif"),
        ("no-such-movie", "problem", "pyscale data list"),
        # It would be fetched.
        ("hela-tracking", "warning", "pyscale data fetch hela-tracking"),
        ("cancer-migration", "problem", "pyscale data verify cancer-migration"),
    ],
)
def test_a_movie_that_is_not_here_as_it_should_be_is_told_with_what_to_do(
    look, tmp_path, monkeypatch, movie, status, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "movie.zarr").mkdir()
    (tmp_path / "movie.tif").write_bytes(b"not a movie")
    changed = tmp_path / "data_folder" / "cancer-migration" / "cancer_cell_migration_crop.tif"
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b"cut short")
    (found,) = [one for one in look(movie).values() if one.status != "ok"]
    assert found.status == status
    assert said in f"{found.sentence} {found.remedy}"
    assert found.remedy
