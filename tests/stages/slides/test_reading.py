import os

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.reading import slide_files
from refusals import refused


def test_slides_of_a_folder_are_listed_by_name_and_one_by_itself_whatever_it_is_called(tmp_path):
    for name in ("b.svs", "a.OME.TIF", "c.ndpi", "notes.txt", "._b.svs", ".hidden.tif"):
        (tmp_path / name).touch()
    (tmp_path / "d.zarr").mkdir()
    (tmp_path / "folder.tif").mkdir()
    os.mkfifo(tmp_path / "pipe.svs")
    names = [path.name for path in slide_files(tmp_path)]
    assert names == ["a.OME.TIF", "b.svs", "c.ndpi", "d.zarr"]
    (tmp_path / "slide.odd").touch()
    (tmp_path / "slide.zarr").mkdir()
    assert slide_files(tmp_path / "slide.odd") == [tmp_path / "slide.odd"]
    assert slide_files(tmp_path / "slide.zarr") == [tmp_path / "slide.zarr"]


def test_a_folder_for_each_slide_is_looked_into_and_no_part_of_a_slide_is(tmp_path):
    made = ("2/b/b.svs", "2/a.svs", "1/a.svs", "c.svs", "d.mrxs", "d/Dat.tif", "e.zarr/0/0.tif")
    for name in (*made, ".trash/f.svs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = [path.relative_to(tmp_path).as_posix() for path in slide_files(tmp_path)]
    assert names == ["1/a.svs", "2/a.svs", "2/b/b.svs", "c.svs", "d.mrxs", "e.zarr"]


def test_a_list_names_slides_and_folders_of_them_in_an_order_of_its_own(tmp_path):
    for name in ("more/b.svs", "more/c.svs", "a.svs"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    listed = tmp_path / "slides.txt"
    listed.write_text(f"more/c.svs\n\n{tmp_path / 'a.svs'}\nmore\n")
    names = [path.name for path in slide_files(listed)]
    assert names == ["c.svs", "a.svs", "b.svs"]
    for text in ("", "absent.svs\n", "slides.txt\n"):
        listed.write_text(text)
        with refused(BadInput):
            slide_files(listed)


def test_an_empty_folder_and_a_missing_one_are_said(tmp_path):
    with refused(BadInput):
        slide_files(tmp_path)
    with refused(BadInput):
        slide_files(tmp_path / "none")
