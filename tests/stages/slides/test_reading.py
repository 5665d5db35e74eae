"""Which slides lie at a path."""

import os

import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.reading import check_readable, slide_files
from refusals import refused


def test_slides_of_a_folder_are_listed_by_name_and_one_by_itself_whatever_it_is_called(tmp_path):
    for name in ("b.svs", "a.OME.TIF", "c.ndpi", "notes.txt", "._b.svs", ".hidden.tif"):
        (tmp_path / name).touch()
    (tmp_path / "d.zarr").mkdir()
    (tmp_path / "folder.tif").mkdir()
    os.mkfifo(tmp_path / "pipe.svs")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "e.svs").touch()
    names = [path.name for path in slide_files(tmp_path)]
    assert names == ["a.OME.TIF", "b.svs", "c.ndpi", "d.zarr"]
    (tmp_path / "slide.odd").touch()
    (tmp_path / "slide.zarr").mkdir()
    assert slide_files(tmp_path / "slide.odd") == [tmp_path / "slide.odd"]
    assert slide_files(tmp_path / "slide.zarr") == [tmp_path / "slide.zarr"]


def test_an_empty_folder_and_a_missing_one_are_said(tmp_path):
    with refused(BadInput):
        slide_files(tmp_path)
    with refused(BadInput):
        slide_files(tmp_path / "none")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_a_slide_that_may_not_be_read_is_said(tmp_path):
    path = tmp_path / "slide.svs"
    path.write_text("slide")
    path.chmod(0)
    with pytest.raises(BadInput, match="is not readable for this user"):
        check_readable(path)
