"""N windows give the tracks of one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyscale_stages.commandline import main
from pyscale_stages.contract import TaskResult
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.track.detections import Detections
from pyscale_stages.track.stitch import Stitched, without_forks

WriteMovie = Callable[[Sequence[Sequence[tuple[int, int]]]], Path]
OUTPUTS = ("tracks.parquet", "splits.parquet", "window.json")
BACKENDS = ("laptrack", "overlap")


def windows(frames: int, n: int) -> list[tuple[int, int]]:
    edges = [frames * i // n for i in range(n + 1)]
    return list(pairwise(edges))


def tracked(
    track_stage: Callable[..., int], labels: Path, folder: Path, n: int, **params: object
) -> Path:
    """Track in n windows and merge them."""
    parts = []
    for start, stop in windows(Movie.open(labels).n_frames, n):
        parts.append(folder / f"{n}-{start}")
        code = track_stage("run", labels, output=parts[-1], frames=(start, stop), **params)
        assert code == 0
    merged = folder / f"merged-{n}"
    assert track_stage("merge", *reversed(parts), output=merged, **params) == 0
    return merged


def assert_same_files(one: Path, other: Path) -> None:
    for name in OUTPUTS:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture
def hela_with_lost_cells(hela_labels: Path, tmp_path: Path) -> Path:
    """Three cells in ten are missing, as after a poor segmentation: gaps everywhere."""
    labels = Movie.open(hela_labels).read(0, 92, channel=0)[:40]
    random = np.random.default_rng(3)
    for frame in labels:
        lost = random.random(int(frame.max()) + 1) < 0.3
        frame[lost[frame]] = 0
    path = tmp_path / "lost.ome.tif"
    write_movie(path, labels, "TYX")
    return path


@pytest.fixture(scope="module", params=BACKENDS)
def hela_whole(
    request: pytest.FixtureRequest, hela_labels: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """Backend and its tracks of the real movie in one window, with divisions."""
    folder = tmp_path_factory.mktemp("hela")
    params = folder / "params.json"
    params.write_text(json.dumps({"backend": request.param}))
    line = ["track", "run", "--input", hela_labels, "--output", folder / "whole"]
    line += ["--params", params, "--result", folder / "result.json"]
    assert main([str(word) for word in line], time.monotonic()) == 0
    return request.param, folder / "whole"


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 8])
def test_windows_of_a_real_movie_merge_to_the_bytes_of_one(
    n: int,
    hela_labels: Path,
    hela_whole: tuple[str, Path],
    track_stage: Callable[..., int],
    tmp_path: Path,
) -> None:
    backend, whole = hela_whole
    merged = tracked(track_stage, hela_labels, tmp_path, n, backend=backend)
    result = tmp_path / "check.json"
    assert track_stage("check", whole, merged, result=result, backend=backend) == 0
    agreement = TaskResult.model_validate_json(result.read_bytes()).agreement
    assert agreement is not None
    assert agreement.same
    assert agreement.score == 1.0
    assert_same_files(whole, merged)
    assert pl.read_parquet(whole / "splits.parquet").height > 20


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_windows_agree_although_many_gaps_cross_their_ends(
    backend: str, hela_with_lost_cells: Path, track_stage: Callable[..., int], tmp_path: Path
) -> None:
    params = {"gap_frames": 5, "backend": backend}
    whole = tmp_path / "whole"
    assert track_stage("run", hela_with_lost_cells, output=whole, **params) == 0
    tracks = pl.read_parquet(whole / "tracks.parquet")
    steps = tracks.sort("track_id", "frame").select(pl.col("frame").diff().over("track_id"))
    assert (steps["frame"] > 1).sum() > 200
    assert_same_files(whole, tracked(track_stage, hela_with_lost_cells, tmp_path, 4, **params))


def test_one_window_merges_to_itself_and_every_cell_is_in_one_track(
    label_movie: WriteMovie, track_stage: Callable[..., int], tmp_path: Path
) -> None:
    labels = label_movie([[(20, 20 + t), (70, 20 + 25 * t)] for t in range(4)])
    merged = tracked(track_stage, labels, tmp_path, 1)
    assert_same_files(tmp_path / "1-0", merged)
    tracks = pl.read_parquet(merged / "tracks.parquet")
    assert tracks.schema == {
        "frame": pl.Int32,
        "label": pl.Int32,
        "track_id": pl.Int32,
        "y_px": pl.Float64,
        "x_px": pl.Float64,
    }
    assert tracks.select("frame", "label").rows() == [(t, i) for t in range(4) for i in (1, 2)]
    # The first cell moves 1 px a frame, the second jumps out of reach.
    assert tracks["track_id"].to_list() == [1, 2, 1, 3, 1, 4, 1, 5]
    splits = pl.read_parquet(merged / "splits.parquet")
    assert splits.schema == {"parent_id": pl.Int32, "child_id": pl.Int32}


def test_a_window_holds_its_context_and_says_which_frames_are_its_own(
    label_movie: WriteMovie, track_stage: Callable[..., int], tmp_path: Path
) -> None:
    labels = label_movie([[(20, 20 + t)] for t in range(12)])
    result = tmp_path / "run.json"
    out = tmp_path / "out"
    assert (
        track_stage("run", labels, output=out, frames=(5, 7), overlap_frames=4, result=result) == 0
    )
    assert pl.read_parquet(out / "tracks.parquet")["frame"].to_list() == list(range(1, 11))
    assert '"frames": [\n    5,\n    7\n  ]' in (out / "window.json").read_text()
    counters = TaskResult.model_validate_json(result.read_bytes()).counters
    assert (counters.frames, counters.objects) == (2, 2)


def test_a_window_without_cells_is_empty_and_said_and_merges(
    label_movie: WriteMovie,
    track_stage: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = label_movie([[(20, 20)]] * 4 + [[]] * 20)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, frames in zip(parts, [(0, 12), (12, 24)], strict=True):
        assert track_stage("run", labels, output=part, frames=frames) == 0
    assert "frames 12:24 of labels.ome.tif have no label" in capsys.readouterr().err
    assert pl.read_parquet(parts[1] / "tracks.parquet").height == 0
    assert track_stage("merge", *parts, output=tmp_path / "merged") == 0
    assert pl.read_parquet(tmp_path / "merged" / "tracks.parquet").height == 4


def test_windows_without_any_cell_do_not_merge(
    label_movie: WriteMovie,
    track_stage: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = label_movie([[]] * 4)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, frames in zip(parts, [(0, 2), (2, 4)], strict=True):
        assert track_stage("run", labels, output=part, frames=frames) == 0
    assert track_stage("merge", *parts, output=tmp_path / "merged") == 2
    assert "no window has a cell" in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


def test_windows_of_different_labels_do_not_merge(
    label_movie: WriteMovie,
    track_stage: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    here = label_movie([[(20, 20)]] * 6)
    assert track_stage("run", here, output=first, frames=(0, 3)) == 0
    elsewhere = label_movie([[(60, 90), (20, 20)]] * 6)
    assert track_stage("run", elsewhere, output=second, frames=(3, 6)) == 0
    # As if the labels had changed between the two, where their fingerprint takes no sample.
    inputs = json.loads((first / "window.json").read_text())["inputs"]
    late = json.loads((second / "window.json").read_text())
    (second / "window.json").write_text(json.dumps(late | {"inputs": inputs}))
    assert track_stage("merge", first, second, output=tmp_path / "merged") == 2
    assert "two windows hold different cells of frame 2" in capsys.readouterr().err


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
def test_of_two_successors_that_no_window_saw_together_one_is_kept(
    splitting: bool, agreed: tuple[bool, ...], kept: list[list[int]]
) -> None:
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
def test_a_merge_of_windows_that_disagree_says_how_often(
    splitting: bool,
    label_movie: WriteMovie,
    track_stage: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = label_movie([[(20, 20 + t), (70, 20 + t)] for t in range(8)])
    params = {"splitting": splitting}
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, frames in zip(parts, [(0, 4), (4, 8)], strict=True):
        assert track_stage("run", labels, output=part, frames=frames, **params) == 0
    assert track_stage("merge", *parts, output=tmp_path / "agreed", **params) == 0
    assert "disagree" not in capsys.readouterr().err
    # As if the first window had not seen one cell go on beyond its end.
    table = parts[0] / "tracks.parquet"
    tracks = pl.read_parquet(table)
    lost = (pl.col("frame") >= 4) & (pl.col("label") == 2)
    other = pl.when(lost).then(99).otherwise(pl.col("track_id")).cast(pl.Int32)
    tracks.with_columns(track_id=other).write_parquet(table)
    assert track_stage("merge", *parts, output=tmp_path / "merged", **params) == 0
    assert "1 of 2 links across the borders of windows were decided" in capsys.readouterr().err
