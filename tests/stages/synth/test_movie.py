from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tifffile

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.movie import Movie
from pyscale_stages.synth.movie import (
    FrameSpool,
    SynthParams,
    render_examples,
    write_synthetic_movie,
)

SMALL = SynthParams(seed=3, frames=4, height_px=96, width_px=80, cells=8, radius_px=6)

CLEAN_FILES = ("clean_ch0.ome.tif", "clean_ch1.ome.tif")


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_a_movie_is_written_as_the_tree_that_the_stages_expect(two_types):
    truth = {
        f"truth/{name}/{file}"
        for name in ("camera", "specimen")
        for file in (
            "labels_ch0.ome.tif",
            "labels_ch1.ome.tif",
            "tracks.parquet",
            "contacts.parquet",
            "drift.parquet",
        )
    }
    # The camera alone has noise.
    noise = {f"truth/camera/{file}" for file in (*CLEAN_FILES, "noise.parquet")}
    assert set(files_of(two_types)) == {"movie.ome.tif", "synth.json"} | truth | noise
    assert sorted(p.name for p in two_types.parent.iterdir()) == [two_types.name]


def test_the_files_carry_their_axes(two_types, one_type):
    for folder, axes in ((two_types, "TCYX"), (one_type, "TYX")):
        with tifffile.TiffFile(folder / "movie.ome.tif") as tiff:
            assert tiff.is_ome
            assert tiff.series[0].axes == axes
            assert tiff.series[0].dtype == np.uint16
        with tifffile.TiffFile(folder / "truth" / "camera" / "labels_ch0.ome.tif") as tiff:
            assert tiff.series[0].axes == "TYX"
            assert tiff.series[0].dtype == np.uint16
    assert Movie.open(two_types / "movie.ome.tif").n_channels == 2


def test_a_movie_of_one_frame_keeps_its_axes(tmp_path):
    params = SMALL.model_copy(update={"frames": 1})
    movie = Movie.open(write_synthetic_movie(tmp_path / "m", params) / "movie.ome.tif")
    assert (movie.n_frames, movie.n_channels, movie.shape_yx) == (1, 2, (96, 80))


@pytest.mark.slow
def test_the_same_parameters_give_the_same_bytes_in_another_process(tmp_path):
    write_synthetic_movie(tmp_path / "here", SMALL)
    program = (
        "import sys, pathlib; from pyscale_stages.synth.movie import *; "
        "write_synthetic_movie(pathlib.Path(sys.argv[1]), "
        "SynthParams.model_validate_json(sys.argv[2]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "17", "TZ": "Asia/Tokyo"}
    arguments = [sys.executable, "-c", program, str(tmp_path / "there"), SMALL.model_dump_json()]
    subprocess.run(arguments, check=True, env=environment)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_another_seed_gives_another_movie(tmp_path):
    write_synthetic_movie(tmp_path / "a", SMALL)
    write_synthetic_movie(tmp_path / "b", SMALL.model_copy(update={"seed": 4}))
    a, b = files_of(tmp_path / "a"), files_of(tmp_path / "b")
    assert all(a[name] != b[name] for name in a)


def test_frames_in_memory_are_those_of_the_movie_on_disk(two_types):
    params = SynthParams.model_validate_json((two_types / "synth.json").read_text())
    on_disk = tifffile.imread(two_types / "movie.ome.tif")
    first = tifffile.imread(two_types / "truth" / "camera" / "labels_ch0.ome.tif")
    second = tifffile.imread(two_types / "truth" / "camera" / "labels_ch1.ome.tif")
    examples = list(render_examples(params))
    assert len(examples) == len(on_disk)
    for frame, (image, labels) in enumerate(examples):
        np.testing.assert_array_equal(image, on_disk[frame])
        np.testing.assert_array_equal(labels, np.stack([first[frame], second[frame]]))


def test_a_movie_is_kept_if_it_is_the_same_and_nothing_is_overwritten(tmp_path):
    folder = write_synthetic_movie(tmp_path / "m", SMALL)
    before = files_of(folder)
    assert write_synthetic_movie(folder, SMALL) == folder
    other = SMALL.model_copy(update={"seed": 5, "cells": 9})
    with pytest.raises(BadInput, match=r"made with other parameters \(seed, cells\): choose"):
        write_synthetic_movie(folder, other)
    assert files_of(folder) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(BadInput, match="is not a synthetic movie of this version"):
        write_synthetic_movie(tmp_path / "mine", SMALL)


def test_a_full_disk_or_an_interruption_among_the_frames_leaves_nothing_behind(
    tmp_path, monkeypatch
):
    append = FrameSpool.append

    def fill_the_disk(spool: FrameSpool, name: str, image: npt.NDArray[np.uint16]) -> None:
        append(spool, name, image)
        if name.endswith("labels_ch1.ome.tif"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)

    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_synthetic_movie(tmp_path / "m", SMALL, interrupt)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(FrameSpool, "append", fill_the_disk)
    with pytest.raises(ResourceExhausted, match="disk of .* is full"):
        write_synthetic_movie(tmp_path / "m", SMALL)
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_every_frame(tmp_path):
    calls: list[tuple[int, int]] = []
    write_synthetic_movie(tmp_path / "m", SMALL, lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.slow
def test_a_movie_with_more_tracks_than_labels_can_name_is_refused(tmp_path):
    crowded = SynthParams(height_px=3000, width_px=3000, cells=40_000, radius_px=4, cell_types=2)
    with pytest.raises(BadInput, match="needs more than 65535 track ids by frame 0"):
        write_synthetic_movie(tmp_path / "m", crowded)
    assert list(tmp_path.iterdir()) == []
