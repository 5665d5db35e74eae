"""Windows are joined only where they are of one movie."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from pyscale_stages.commandline import main
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.windows import read_window, same_bytes


def moving_cells(path: Path, step_px: int) -> Path:
    """Four frames of two cells: other movies of one size by another step."""
    labels = np.zeros((4, 40, 60), np.uint16)
    for frame, image in enumerate(labels):
        image[5:12, 5 + step_px * frame : 12 + step_px * frame] = 1
        image[25:32, 40 - step_px * frame : 47 - step_px * frame] = 2
    path.parent.mkdir(parents=True, exist_ok=True)
    write_movie(path, labels, "TYX")
    return path


def track(verb: str, *inputs: Path, output: Path, frames: str | None = None) -> int:
    line = ["track", verb, "--output", str(output)]
    for path in inputs:
        line += ["--input", str(path)]
    return main([*line, *(("--frames", frames) if frames else ())], time.monotonic())


def test_windows_of_two_movies_of_equal_length_and_parameters_are_not_joined(tmp_path, capsys):
    for name, step_px, frames in (("early", 1, "0:2"), ("late", 2, "2:4")):
        movie = moving_cells(tmp_path / name / "movie.ome.tif", step_px)
        assert track("run", movie, output=tmp_path / name / "out", frames=frames) == 0
    parts = tmp_path / "early" / "out", tmp_path / "late" / "out"
    capsys.readouterr()
    assert track("merge", *parts, output=tmp_path / "merged") == 2
    said = capsys.readouterr().err
    assert f"{parts[1]} was computed from another movie than {parts[0]}" in said
    assert not list((tmp_path / "merged").glob("*"))


def test_windows_of_copies_of_one_movie_are_joined(tmp_path):
    for name, frames in (("scratch", "0:2"), ("home", "2:4")):
        movie = moving_cells(tmp_path / name / f"{name}.ome.tif", 1)
        assert track("run", movie, output=tmp_path / name / "out", frames=frames) == 0
    parts = tmp_path / "scratch" / "out", tmp_path / "home" / "out"
    assert track("merge", *parts, output=tmp_path / "merged") == 0
    whole = read_window(tmp_path / "merged")
    assert whole.frames == (0, 4)
    assert whole.inputs == read_window(parts[0]).inputs
    assert set(whole.inputs) == {"labels"}


def test_outputs_have_the_same_bytes_only_if_every_file_has(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_bytes(b"1")
        (tmp_path / name / "two").write_bytes(b"2")
    assert same_bytes(tmp_path / "a", tmp_path / "b", ("one", "two"))
    (tmp_path / "b" / "two").write_bytes(b"3")
    assert not same_bytes(tmp_path / "a", tmp_path / "b", ("one", "two"))
    assert same_bytes(tmp_path / "a", tmp_path / "b", ("one",))
