from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pyscale_stages.contact import labels
from pyscale_stages.contact.labels import pieces
from pyscale_stages.contact.tables import COLUMNS, joined
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.synth.movie import write_synthetic_movie
from pyscale_stages.synth.params import SynthParams

TABLES = ("contacts.parquet", "cells.parquet", "neighbours.parquet")
SHAPE = (9, 11)


def random_movie(seed, n_frames=7, empty=(0, 1, 4)):
    """Frames full of small cells with far-apart labels; some frames hold nothing."""
    rng = np.random.default_rng(seed)
    labels = np.array([0, 1, 5, 900, 65_536, 3_000_000_000], dtype=np.uint32)
    frames = labels[rng.integers(0, len(labels), (n_frames, *SHAPE))]
    frames[list(empty)] = 0
    return frames


@pytest.mark.parametrize("cuts", [(2,), (1, 3), (1, 2, 3, 4, 5, 6)], ids=str)
def test_merged_windows_of_two_types_are_the_files_of_one_window(bench, movie_of, cuts):
    movies = [movie_of(random_movie(seed), f"type{seed}.ome.tif") for seed in (1, 2)]
    whole = bench.done("run", *movies, output="whole")
    windows = [
        bench.done("run", *movies, output=f"w{window[0]}", frames=window)
        for window in pairwise((0, *cuts, 7))
    ]
    merged = bench.done("merge", *reversed(windows), output="merged")
    for name in (*TABLES, "window.json"):
        assert (merged / name).read_bytes() == (whole / name).read_bytes(), name


def test_tables_of_many_rows_are_written_alike_from_one_window_or_many(tmp_path):
    # Polars writes a row group a chunk once a table is long.
    n_rows = 300_000
    columns = {name: np.arange(n_rows) // 7 for name in COLUMNS["contacts"]}
    rows = pl.DataFrame(columns, schema_overrides=COLUMNS["contacts"])
    whole = {name: pl.DataFrame(schema=COLUMNS[name]) for name in COLUMNS} | {"contacts": rows}
    parts = [whole | {"contacts": part} for part in rows.iter_slices(n_rows // 5)]
    written = []
    for tables in (whole, joined(parts)):
        tables["contacts"].write_parquet(tmp_path / "table.parquet")
        written.append((tmp_path / "table.parquet").read_bytes())
    assert written[0] == written[1]


def test_frames_and_labels_are_those_of_the_movie_and_the_record_counts_them(bench, movie_of):
    frames = random_movie(3)
    assert bench.run("run", movie_of(frames), frames=(5, 7)).counters.frames == 2
    out = bench.folder / "out"
    cells = pl.read_parquet(out / "cells.parquet")
    assert cells["frame"].unique().to_list() == [5, 6]
    for frame in (5, 6):
        of_frame = cells.filter(pl.col("frame") == frame)["label"].to_list()
        assert of_frame == np.unique(frames[frame])[1:].tolist()
    assert cells["label"].max() == 3_000_000_000
    result = bench.run("run", movie_of(random_movie(1)))
    assert "opencl_device" not in result.versions
    assert result.counters.objects == len(pl.read_parquet(bench.folder / "out" / TABLES[0]))


@pytest.fixture(scope="module", params=[1, 2], ids=["one type", "two types"])
def synthetic(request, tmp_path_factory):
    """A synthetic movie with exact truth."""
    params = SynthParams(
        frames=4, height_px=160, width_px=160, cells=24, cell_types=request.param, seed=5
    )
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "movie", params)


@pytest.mark.parametrize("coordinates", ["camera", "specimen"])
def test_contacts_of_true_labels_are_the_true_contacts(bench, synthetic, coordinates):
    truth = synthetic / "truth" / coordinates
    out = bench.done("run", *sorted(truth.glob("labels_ch*.ome.tif")))
    columns = ["frame", "label_a", "label_b", "contact_px"]
    true = pl.read_parquet(truth / "contacts.parquet").select(columns).sort(columns)
    assert len(true) > 20
    assert_frame_equal(
        pl.read_parquet(out / "contacts.parquet").select(columns), true, check_dtypes=False
    )
    assert set(bench.quality(out, truth).values()) == {1}


def test_empty_windows_are_warned_of_and_do_not_merge_without_one_that_has_cells(bench, movie_of):
    result = bench.run("run", movie_of(random_movie(1)), frames=(0, 2))
    assert result.error is None
    assert "the frames 0:2 of movie.ome.tif have no label" in " ".join(result.warnings)
    assert all(pl.read_parquet(bench.folder / "out" / name).is_empty() for name in TABLES)
    windows = bench.windows(movie_of(np.zeros((4, *SHAPE), np.uint16)), (0, 2), (2, 4))
    bench.refused("merge", *windows)


@pytest.mark.usefixtures("opencl")
def test_the_record_names_the_opencl_device(bench, movie_of):
    result = bench.run("run", movie_of(random_movie(1)), backend="opencl")
    assert result.versions["opencl_device"]
    assert result.versions["opencl_driver"] != "unknown"
    assert "model_load" in {span.phase for span in result.spans}


def test_two_movies_share_the_memory_that_one_has_and_the_wider_sets_the_pieces(
    tmp_path, monkeypatch
):
    movies = []
    for dtype in (np.uint16, np.uint32):
        path = tmp_path / f"{np.dtype(dtype)}.ome.tif"
        write_movie(path, np.zeros((8, 4, 4), dtype), "TYX")
        movies.append(Movie.open(path))
    # Eight frames of the one, four of the other.
    monkeypatch.setattr(labels, "BLOCK_BYTES", 8 * 4 * 4 * 2)
    assert list(pieces((movies[0],), (0, 8))) == [(0, 8)]
    assert list(pieces((movies[1],), (1, 8))) == [(1, 5), (5, 8)]
    assert list(pieces((movies[0], movies[1]), (2, 7))) == [(2, 4), (4, 6), (6, 7)]
