"""A container sees each file at its own path, whatever its name and however it is linked."""

import csv
import os
from pathlib import Path

import pytest

from pyscale_stages.binds import Bind, task_binds


@pytest.mark.parametrize(
    "name", ["a b", "a,b", "a:b", "a[0]{1}", 'a "b"', "a'b", "a=b", "a;$HOME`id`", "é☃", "-ro"]
)
def test_any_name_stands_whole_in_the_option(name):
    path = Path("/data") / name
    flag, text = Bind(path, path).option()
    assert flag == "--mount"
    (fields,) = csv.reader([text], strict=True)
    assert fields == ["type=bind", f"source={path}", f"destination={path}", "ro"]


def test_only_the_output_can_be_written_and_what_is_not_there_is_left_to_the_stage(tmp_path):
    movie, output = tmp_path / "movie.tif", tmp_path / "out"
    movie.touch()
    output.mkdir()
    binds = task_binds(output, [movie, movie])
    assert {bind.seen_at: bind.writable for bind in binds} == {movie: False, output: True}
    binds = task_binds(tmp_path, [tmp_path / "absent.tif"])
    assert [bind.seen_at for bind in binds] == [tmp_path]


def test_an_output_inside_a_folder_to_write_into_or_an_input_is_mounted_over_it(tmp_path):
    place, output = tmp_path / "place", tmp_path / "place" / "runs" / "w0"
    output.mkdir(parents=True)
    (tmp_path / "elsewhere").touch()
    (place / "link").symlink_to(tmp_path / "elsewhere")
    binds = task_binds(output, [], [place, tmp_path / "absent"])
    assert [(bind.seen_at, bind.writable) for bind in binds] == [(place, True), (output, True)]
    output = tmp_path / "movie" / "runs" / "w0"
    output.mkdir(parents=True)
    binds = task_binds(output, [tmp_path / "movie"])
    assert [bind.seen_at for bind in binds] == [tmp_path / "movie", output]


def test_links_of_a_folder_lead_to_their_files_from_where_it_is_named(tmp_path):
    store, movie = tmp_path / "store", tmp_path / "movie"
    for folder in (store, movie / "deeper"):
        folder.mkdir(parents=True)
    (store / "real.tif").touch()
    (store / "hop.tif").symlink_to("real.tif")
    (movie / "absolute.tif").symlink_to(store / "hop.tif")
    (movie / "relative.tif").symlink_to("../store/real.tif")
    (movie / "deeper" / "folder").symlink_to("../../store")
    (movie / "broken.tif").symlink_to("nowhere.tif")
    (movie / "own.tif").symlink_to("deeper")
    found = {(bind.source, bind.seen_at) for bind in task_binds(tmp_path / "out", [movie])}
    assert found == {
        (tmp_path / "out", tmp_path / "out"),
        (movie, movie),
        (store / "real.tif", store / "hop.tif"),
        (store / "real.tif", store / "real.tif"),
        (store, store),
    }
    # Outside, the link on the way to the folder decides where `..` is; inside there is none.
    real = tmp_path / "disk" / "lab" / "movie"
    real.mkdir(parents=True)
    (tmp_path / "disk" / "lab" / "store").mkdir()
    target = tmp_path / "disk" / "lab" / "store" / "frame.tif"
    target.touch()
    (real / "frame.tif").symlink_to("../store/frame.tif")
    (tmp_path / "named").symlink_to(real)
    binds = task_binds(tmp_path / "out", [tmp_path / "named"])
    assert Bind(target, Path(os.path.normpath(tmp_path / "store" / "frame.tif"))) in binds
