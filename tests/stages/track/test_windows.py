import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.track.lineage import Detections, Stitched, without_forks
from pyscale_stages.windows import read_window
from stagetasks import Bench

OUTPUTS = ("tracks.parquet", "splits.parquet", "window.json")
BACKENDS = ("laptrack", "sparse")


def tracked(bench, labels, n, **params):
    frames = Movie.open(labels).n_frames
    windows = pairwise(frames * i // n for i in range(n + 1))
    parts = bench.windows(labels, *windows, **params)
    return bench.done("merge", *reversed(parts), output=f"merged-{n}", **params)


def assert_same_files(one, other):
    for name in OUTPUTS:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture(scope="module")
def hela_start(hela_labels, tmp_path_factory):
    """The first 40 frames of the real movie, with divisions."""
    path = tmp_path_factory.mktemp("start") / "labels.ome.tif"
    write_movie(path, Movie.open(hela_labels).read(0, 40, channel=0), "TYX")
    return path


@pytest.fixture
def hela_with_lost_cells(hela_labels, tmp_path):
    """Three cells in ten are missing, as after a poor segmentation: gaps everywhere."""
    # Half of the frames of the end, where cells are many.
    labels = Movie.open(hela_labels).read(68, 92, channel=0)[:, :350]
    random = np.random.default_rng(3)
    for frame in labels:
        lost = random.random(int(frame.max()) + 1) < 0.3
        frame[lost[frame]] = 0
    path = tmp_path / "lost.ome.tif"
    write_movie(path, labels, "TYX")
    return path


@pytest.fixture(scope="module", params=BACKENDS)
def hela_whole(request, hela_start, tmp_path_factory):
    bench = Bench("track", tmp_path_factory.mktemp("hela"), backend=request.param)
    return request.param, bench.done("run", hela_start)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 8])
def test_windows_of_a_real_movie_merge_to_the_bytes_of_one(n, hela_start, hela_whole, bench):
    backend, whole = hela_whole
    merged = tracked(bench, hela_start, n, backend=backend)
    agreement = bench.agreement(whole, merged, backend=backend)
    assert (agreement.same, agreement.score) == (True, 1.0)
    assert_same_files(whole, merged)
    assert pl.read_parquet(whole / "splits.parquet").height > 20


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_windows_agree_although_many_gaps_cross_their_ends(backend, hela_with_lost_cells, bench):
    params = {"gap_frames": 5, "backend": backend}
    whole = bench.done("run", hela_with_lost_cells, **params)
    tracks = pl.read_parquet(whole / "tracks.parquet")
    steps = tracks.sort("track_id", "frame").select(pl.col("frame").diff().over("track_id"))
    assert (steps["frame"] > 1).sum() > 200
    assert_same_files(whole, tracked(bench, hela_with_lost_cells, 4, **params))


def test_every_cell_is_in_one_track_and_a_window_holds_its_context_beside_its_own_frames(
    label_movie, bench
):
    labels = label_movie([[(20, 20 + t), (70, 20 + 25 * t)] for t in range(4)])
    merged = tracked(bench, labels, 1)
    tracks = pl.read_parquet(merged / "tracks.parquet")
    whole = dict.fromkeys(("frame", "label", "track_id"), pl.Int32)
    assert tracks.schema == whole | dict.fromkeys(("y_px", "x_px"), pl.Float64)
    assert tracks.select("frame", "label").rows() == [(t, i) for t in range(4) for i in (1, 2)]
    # The first cell moves 1 px a frame, the second jumps out of reach.
    assert tracks["track_id"].to_list() == [1, 2, 1, 3, 1, 4, 1, 5]
    splits = pl.read_parquet(merged / "splits.parquet")
    assert splits.schema == {"parent_id": pl.Int32, "child_id": pl.Int32}
    labels = label_movie([[(20, 20 + t)] for t in range(12)])
    result = bench.run("run", labels, frames=(5, 7), overlap_frames=4)
    out = bench.folder / "out"
    assert pl.read_parquet(out / "tracks.parquet")["frame"].to_list() == list(range(1, 11))
    assert read_window(out).frames == (5, 7)
    assert (result.counters.frames, result.counters.objects) == (2, 2)


def test_a_window_without_cells_is_empty_and_said_and_merges_with_one_that_has_some(
    label_movie, bench
):
    labels = label_movie([[(20, 20)]] * 4 + [[]] * 20)
    (full,) = bench.windows(labels, (0, 12))
    result = bench.run("run", labels, output="empty", frames=(12, 24))
    assert "frames 12:24 of labels.ome.tif have no label" in " ".join(result.warnings)
    empty = bench.folder / "empty"
    assert pl.read_parquet(empty / "tracks.parquet").height == 0
    merged = bench.done("merge", full, empty, output="merged")
    assert pl.read_parquet(merged / "tracks.parquet").height == 4
    parts = bench.windows(label_movie([[]] * 4), (0, 2), (2, 4))
    bench.refused("merge", *parts)


def test_windows_of_different_labels_do_not_merge(label_movie, bench):
    (first,) = bench.windows(label_movie([[(20, 20)]] * 6), (0, 3))
    (second,) = bench.windows(label_movie([[(60, 90), (20, 20)]] * 6), (3, 6))
    # As if the labels had changed between the two, where their fingerprint takes no sample.
    inputs = json.loads((first / "window.json").read_text())["inputs"]
    late = json.loads((second / "window.json").read_text())
    (second / "window.json").write_text(json.dumps(late | {"inputs": inputs}))
    bench.refused("merge", first, second)


@pytest.mark.parametrize(
    ("splitting", "agreed", "kept"),
    [
        # Where tracks may not divide, the earlier return is kept, or that on which both agree.
        (False, (True, True, True), [[0, 4], [1, 5]]),
        (False, (True, False, True), [[0, 9], [1, 5]]),
        # Where they may, a division stays that the window of the mother saw whole.
        (True, (True, True, True), [[0, 4], [0, 9], [1, 5]]),
        (True, (True, False, True), [[0, 9], [1, 5]]),
        (True, (False, False, False), [[0, 4], [1, 5]]),
    ],
)
def test_of_two_successors_that_no_window_saw_together_one_is_kept(splitting, agreed, kept):
    nothing = np.zeros(0)
    links = np.array([[0, 9], [0, 4], [1, 5]])
    stitched = Stitched(
        Detections(nothing.astype(int), nothing.astype(int), nothing, nothing),
        links,
        np.array(agreed),
        crossing=3,
        disputed=0,
    )
    assert without_forks(stitched, splitting=splitting).tolist() == kept


@pytest.mark.parametrize("splitting", [False, True])
def test_a_merge_of_windows_that_disagree_says_how_often(splitting, label_movie, bench):
    labels = label_movie([[(20, 20 + t), (70, 20 + t)] for t in range(8)])
    parts = bench.windows(labels, (0, 4), (4, 8), splitting=splitting)
    assert bench.run("merge", *parts, splitting=splitting).warnings == ()
    # As if the first window had not seen one cell go on beyond its end.
    table = parts[0] / "tracks.parquet"
    tracks = pl.read_parquet(table)
    lost = (pl.col("frame") >= 4) & (pl.col("label") == 2)
    other = pl.when(lost).then(99).otherwise(pl.col("track_id")).cast(pl.Int32)
    tracks.with_columns(track_id=other).write_parquet(table)
    (warning,) = bench.run("merge", *parts, splitting=splitting).warnings
    assert "1 of 2 links across the borders of windows were decided" in warning
