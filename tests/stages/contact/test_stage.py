from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tifffile
from polars.testing import assert_frame_equal

from pyscale_stages.contact.tables import COLUMNS, joined
from pyscale_stages.contract import TaskResult
from pyscale_stages.synth.movie import write_synthetic_movie
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.truth.cells import count_contacts

RunContact = Callable[..., TaskResult]
LabelMovie = Callable[..., Path]
TABLES = ("contacts.parquet", "cells.parquet", "neighbours.parquet")
SHAPE = (9, 11)


def random_movie(seed: int, n_frames: int = 7, empty: tuple[int, ...] = (0, 1, 4)) -> Any:
    """Frames full of small cells with far-apart labels; some frames hold nothing."""
    rng = np.random.default_rng(seed)
    labels = np.array([0, 1, 5, 900, 65_536, 3_000_000_000], dtype=np.uint32)
    frames = labels[rng.integers(0, len(labels), (n_frames, *SHAPE))]
    frames[list(empty)] = 0
    return frames


@pytest.mark.parametrize("seeds", [(1,), (1, 2)], ids=["one type", "two types"])
@pytest.mark.parametrize("cuts", [(2,), (1, 3), (1, 2, 3, 4, 5, 6)], ids=str)
def test_merged_windows_are_the_files_of_one_window_byte_for_byte(
    run_contact: RunContact,
    label_movie: LabelMovie,
    tmp_path: Path,
    seeds: tuple[int, ...],
    cuts: tuple[int, ...],
) -> None:
    movies = [label_movie(random_movie(seed), f"type{seed}.ome.tif") for seed in seeds]
    whole = tmp_path / "whole"
    assert run_contact("run", *movies, output=whole).error is None
    windows = []
    for start, stop in zip((0, *cuts), (*cuts, 7), strict=True):
        windows.append(tmp_path / f"window{start}")
        done = run_contact("run", *movies, output=windows[-1], frames=(start, stop))
        assert done.error is None
    merged = tmp_path / "merged"
    assert run_contact("merge", *windows[::-1], output=merged).error is None
    for name in (*TABLES, "window.json"):
        assert (merged / name).read_bytes() == (whole / name).read_bytes(), name
    agreement = run_contact("check", whole, merged).agreement
    assert agreement is not None
    assert agreement.same
    assert agreement.score == 1


def test_tables_of_many_rows_are_written_alike_from_one_window_or_many(tmp_path: Path) -> None:
    # Polars writes a row group a chunk once a table is long.
    n_rows = 300_000
    columns = {name: np.arange(n_rows) // 7 for name in COLUMNS["contacts"]}
    whole = {name: pl.DataFrame(columns) for name in COLUMNS}
    parts = [
        {name: t[i : i + n_rows // 5] for name, t in whole.items()}
        for i in range(0, n_rows, n_rows // 5)
    ]
    written = []
    for tables in (whole, joined(parts)):
        tables["contacts"].write_parquet(tmp_path / "table.parquet")
        written.append((tmp_path / "table.parquet").read_bytes())
    assert written[0] == written[1]


def test_frames_are_those_of_the_movie_and_labels_those_of_the_image(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    frames = random_movie(3)
    out = tmp_path / "out"
    run_contact("run", label_movie(frames), output=out, frames=(5, 7))
    cells = pl.read_parquet(out / "cells.parquet")
    assert cells["frame"].unique().to_list() == [5, 6]
    for frame in (5, 6):
        of_frame = cells.filter(pl.col("frame") == frame)["label"].to_list()
        assert of_frame == np.unique(frames[frame])[1:].tolist()
    assert cells["label"].max() == 3_000_000_000


@pytest.fixture(scope="module", params=[1, 2], ids=["one type", "two types"])
def synthetic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic movie with exact truth."""
    params = SynthParams(
        frames=4, height_px=160, width_px=160, cells=24, cell_types=request.param, seed=5
    )
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "movie", params)


@pytest.mark.parametrize("coordinates", ["camera", "specimen"])
def test_contacts_of_true_labels_are_the_true_contacts(
    run_contact: RunContact, synthetic: Path, tmp_path: Path, coordinates: str
) -> None:
    truth = synthetic / "truth" / coordinates
    out = tmp_path / "out"
    movies = sorted(truth.glob("labels_ch*.ome.tif"))
    assert run_contact("run", *movies, output=out).error is None
    columns = ["frame", "label_a", "label_b", "contact_px"]
    true = pl.read_parquet(truth / "contacts.parquet").select(columns).sort(columns)
    assert len(true) > 20
    assert_frame_equal(
        pl.read_parquet(out / "contacts.parquet").select(columns), true, check_dtypes=False
    )
    quality = run_contact("check", out, out, truth=truth).quality
    assert quality == {"matched_cells": 1, "contact_precision": 1, "contact_recall": 1}


def test_real_labels_of_hela_cells_give_the_contacts_that_numpy_counts(
    run_contact: RunContact, shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "hela-tracking"
    out = tmp_path / "out"
    result = run_contact("run", folder, output=out, frames=(60, 62))
    assert result.error is None
    contacts = pl.read_parquet(out / "contacts.parquet")
    cells = pl.read_parquet(out / "cells.parquet")
    assert len(contacts) > 0
    for frame in (60, 61):
        labels = tifffile.imread(folder / f"mask{frame:03}.tif")
        of_frame = contacts.filter(pl.col("frame") == frame)
        found = of_frame.select("label_a", "label_b", "contact_px").to_numpy()
        assert np.array_equal(found, count_contacts([labels]))
        counts = np.bincount(labels.ravel())
        mine = cells.filter(pl.col("frame") == frame)
        assert mine["label"].to_list() == [i for i in np.flatnonzero(counts) if i]
        assert mine["area_px"].to_list() == counts[mine["label"].to_list()].tolist()


def test_an_empty_window_gives_empty_tables_and_a_warning(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = run_contact("run", label_movie(random_movie(1)), output=out, frames=(0, 2))
    assert result.error is None
    assert "empty in the frames 0:2" in " ".join(result.warnings)
    assert all(pl.read_parquet(out / name).is_empty() for name in TABLES)


def test_windows_of_a_movie_without_cells_do_not_merge_into_an_output(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    movie = label_movie(np.zeros((4, *SHAPE), np.uint16))
    windows = [tmp_path / "a", tmp_path / "b"]
    for window, frames in zip(windows, ((0, 2), (2, 4)), strict=True):
        assert run_contact("run", movie, output=window, frames=frames).error is None
    result = run_contact("merge", *windows, output=tmp_path / "merged")
    assert result.error is not None
    assert result.error.exit_code == 2
    assert "none of the 2 windows" in result.error.message
    assert not (tmp_path / "merged").exists()


def test_the_record_names_phases_and_outputs(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    result = run_contact("run", label_movie(random_movie(1)), output=tmp_path / "out")
    assert {span.phase for span in result.spans} == {
        "python_start", "import", "read", "compute", "write",
    }  # fmt: skip
    assert "opencl_device" not in result.versions
    assert result.counters.frames == 7
    assert result.counters.objects == len(pl.read_parquet(tmp_path / "out" / TABLES[0]))
    assert {output.name for output in result.outputs} == {*TABLES, "window.json"}


@pytest.mark.usefixtures("opencl")
def test_the_record_names_the_opencl_device_and_where_kernels_came_from(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    movie = label_movie(random_movie(1))
    params = {"backend": "opencl", "kernel_cache": "user"}
    result = run_contact("run", movie, output=tmp_path / "out", params=params)
    assert result.versions["opencl_device"]
    assert result.versions["opencl_driver"] != "unknown"
    assert result.versions["kernel_cache"] == "user"
    assert "model_load" in {span.phase for span in result.spans}


@pytest.mark.usefixtures("opencl")
def test_numpy_and_opencl_find_the_same_contacts_and_nearly_the_same_centroids(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    movie = label_movie(random_movie(1))
    params = {"backend": "opencl", "kernel_cache": "user"}
    assert run_contact("run", movie, output=tmp_path / "numpy").error is None
    assert run_contact("run", movie, output=tmp_path / "opencl", params=params).error is None
    agreement = run_contact("check", tmp_path / "numpy", tmp_path / "opencl").agreement
    assert agreement is not None
    assert agreement.details["same_contacts"] == 1
    assert agreement.same
