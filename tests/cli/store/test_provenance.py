"""What a run was made from: every file of its input, by a name of its own."""

import os

import pytest

from pyscale.errors import UserError
from pyscale.store.provenance import (
    files_of,
    read_provenance,
    refuse_changed_input,
    write_provenance,
)
from refusals import refused


@pytest.fixture
def slides(tmp_path):
    """A folder with a slide in a file, one in a folder, one in both, and somebody's notes."""
    folder = tmp_path / "slides"
    for name in ("a.svs", "b.zarr/0/c/0", "b.zarr/1/c/0", "d.mrxs", "d/Dat0.dat", "notes/mine.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def names(path):
    return [file.relative_to(path).as_posix() for file in files_of(path)]


def test_an_image_counts_with_all_that_is_in_it_and_the_tiles_that_lie_beside_it(slides):
    assert names(slides) == ["a.svs", "b.zarr/0/c/0", "b.zarr/1/c/0", "d/Dat0.dat", "d.mrxs"]
    assert names(slides / "b.zarr") == ["0/c/0", "1/c/0"]
    assert files_of(slides / "d.mrxs") == [slides / "d.mrxs", slides / "d" / "Dat0.dat"]
    assert files_of(slides / "a.svs") == [slides / "a.svs"]


@pytest.mark.parametrize(
    "name",
    [
        "b.zarr/1/c/0",
        "b.zarr/2",
        "d/Dat1.dat",
    ],
)
def test_a_chunk_that_is_another_is_another_input(slides, tmp_path, name):
    write_provenance(tmp_path, {"": slides})
    found = {file.name: file.sha256 for file in read_provenance(tmp_path).input_files}
    assert len(found) == 5
    assert found["b.zarr/0/c/0"] != found["b.zarr/1/c/0"]
    # What lies in other folders is no input.
    (slides / "notes" / "more.txt").write_text("mine too")
    refuse_changed_input(tmp_path, {"": slides})
    (slides / name).write_text("something else")
    with refused(UserError):
        refuse_changed_input(tmp_path, {"": slides})


def test_a_copy_that_was_restored_is_the_same_input(slides, tmp_path):
    write_provenance(tmp_path, {"": slides})
    chunk = slides / "b.zarr" / "1" / "c" / "0"
    os.utime(chunk, ns=(0, 0))
    refuse_changed_input(tmp_path, {"": slides})
    # As long as before, with other bytes.
    chunk.write_text(chunk.read_text().upper())
    with refused(UserError):
        refuse_changed_input(tmp_path, {"": slides})


def test_files_of_two_datasets_are_told_apart(slides, tmp_path):
    movies = {"": slides / "a.svs", "other": slides / "b.zarr"}
    write_provenance(tmp_path, movies)
    found = [file.name for file in read_provenance(tmp_path).input_files]
    assert found == ["a.svs", "other/0/c/0", "other/1/c/0"]
    refuse_changed_input(tmp_path, movies)
    (slides / "b.zarr" / "0" / "c" / "0").write_text("another")
    with refused(UserError):
        refuse_changed_input(tmp_path, movies)
