from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from pyscale_stages.contract import TaskResult

RunContact = Callable[..., TaskResult]
LabelMovie = Callable[..., Path]


def frames(dtype: Any = np.uint16, n_frames: int = 3, shape: tuple[int, int] = (9, 11)) -> Any:
    movie = np.zeros((n_frames, *shape), dtype)
    movie[:, 2:4, 2:5], movie[:, 4:6, 2:5] = 1, 7
    return movie


def with_value(value: Any, dtype: Any) -> Any:
    movie = frames(dtype)
    movie[2, 0, 0] = value
    return movie


@pytest.mark.parametrize(
    ("movie", "says"),
    [
        (frames(np.float32), "holds float32 values, but labels are whole numbers"),
        (with_value(np.nan, np.float32), "holds float32 values"),
        (with_value(-1, np.int16), "frame 2 of .* has labels that are negative"),
        (frames()[:, 2:3, 2:3] * 0, "are empty in all frames"),
        (np.ones((1, 1600, 1600), np.uint16), "label 1 in frame 0 .* probably a mask"),
    ],
    ids=["float", "NaN", "negative", "empty", "mask"],
)
def test_a_movie_that_holds_no_labels_is_refused_in_one_sentence(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, movie: Any, says: str
) -> None:
    refused(run_contact("run", label_movie(movie), output=tmp_path / "out"), says, tmp_path)


def test_labels_beyond_32_bits_are_refused(run_contact: RunContact, tmp_path: Path) -> None:
    path = tmp_path / "labels.tif"
    tifffile.imwrite(path, with_value(2**32, np.int64), photometric="minisblack")
    result = run_contact("run", path, output=tmp_path / "out")
    refused(result, "frame 2 of .* larger than 4294967295", tmp_path)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (frames(n_frames=4), "type2.ome.tif has 4 frames, but .*labels.ome.tif has 3"),
        (frames(shape=(9, 12)), r"has \(9, 12\) pixels .* has \(9, 11\)"),
        (frames(np.float64), "type2.ome.tif holds float64 values"),
    ],
    ids=["frames", "size", "float"],
)
def test_a_second_cell_type_that_does_not_fit_the_first_is_refused(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, other: Any, says: str
) -> None:
    movies = label_movie(frames()), label_movie(other, "type2.ome.tif")
    refused(run_contact("run", *movies, output=tmp_path / "out"), says, tmp_path)


def test_a_movie_of_several_channels_is_refused(run_contact: RunContact, tmp_path: Path) -> None:
    path = tmp_path / "movie.ome.tif"
    tifffile.imwrite(path, np.stack([frames()] * 2, axis=1), metadata={"axes": "TCYX"})
    result = run_contact("run", path, output=tmp_path / "out")
    refused(result, "has 2 channels, but a label movie has one", tmp_path)


@pytest.mark.parametrize("keep", [0, 0.5, 0.9])
def test_a_truncated_file_is_refused(run_contact: RunContact, tmp_path: Path, keep: float) -> None:
    path = tmp_path / "labels.tif"
    tifffile.imwrite(path, frames(shape=(64, 64)), photometric="minisblack")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    result = run_contact("run", path, output=tmp_path / "out")
    refused(result, "empty .0 bytes.|damaged or truncated|is not a TIFF", tmp_path)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"frames": (2, 9)}, "--frames 2:9 does not lie inside labels.ome.tif"),
        ({"params": {"kernel_cash": "none"}}, "did you mean 'kernel_cache'"),
        ({"params": {"kernel_cache": "shared"}}, "'kernel_cache': input should be 'none' or"),
        # With kernels of the home folder: else this process keeps none from here on.
        (
            {"device": "mps", "params": {"kernel_cache": "user"}},
            "contact does not run on mps",
        ),
        ({"device": "cuda", "params": {"backend": "numpy"}}, "numpy does not run on cuda"),
    ],
    ids=["window", "misspelt", "value", "device", "backend"],
)
def test_a_wrong_task_is_refused(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, spec: Any, says: str
) -> None:
    result = run_contact("run", label_movie(frames()), output=tmp_path / "out", **spec)
    refused(result, says, tmp_path)


@pytest.mark.parametrize("damage", ["missing", "empty", "another table"])
@pytest.mark.parametrize("verb", ["merge", "check"])
def test_a_damaged_output_is_neither_merged_nor_compared(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, verb: str, damage: str
) -> None:
    done = tmp_path / "done"
    assert run_contact("run", label_movie(frames()), output=done).error is None
    table = done / "cells.parquet"
    if damage == "missing":
        table.unlink()
    elif damage == "empty":
        table.write_bytes(b"")
    else:
        table.write_bytes((done / "contacts.parquet").read_bytes())
    inputs = [done] if verb == "merge" else [done, done]
    result = run_contact(verb, *inputs, output=tmp_path / "out")
    refused(result, "cells.parquet (is missing or damaged|has no column 'cell_type')", tmp_path)


def refused(result: TaskResult, says: str, folder: Path) -> None:
    """Check for exit code 2, one sentence that says why, and no output."""
    assert result.error is not None
    assert result.error.exit_code == 2, result.error
    assert "\n" not in result.error.message
    assert re.search(says, result.error.message), result.error.message
    assert not (folder / "out").exists()
