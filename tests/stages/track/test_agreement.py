"""`check` measures how far two outputs agree, and how right the second is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyscale_stages.track.agreement import link_quality
from pyscale_stages.track.detections import Detections, detect, joined
from pyscale_stages.track.lineage import Tracks
from stagetasks import Bench

WriteMovie = Callable[[Sequence[Sequence[tuple[int, int]]]], Path]
FRAMES = 6


@pytest.fixture
def output(label_movie: WriteMovie, bench: Bench) -> Path:
    """Tracks of two cells in six frames: ten links."""
    return bench.done("run", label_movie([[(20, 20 + 3 * t), (60, 80 - 3 * t)] for t in range(6)]))


CUT = pl.when(pl.col("frame") < 3).then(pl.col("track_id")).otherwise(pl.col("track_id") + 2)


def changed(output: Path, name: str, **columns: pl.Expr) -> Path:
    """A copy of the output whose tracks table has other columns."""
    copy = output.with_name(name)
    shutil.copytree(output, copy)
    table = pl.read_parquet(copy / "tracks.parquet")
    table.with_columns(**columns).write_parquet(copy / "tracks.parquet")
    return copy


def truth_of(
    cells: Tracks, folder: Path, channel: int = 0, parents: pl.Series | None = None
) -> Path:
    """Write tracks as the truth of a synthetic movie."""
    folder.mkdir()
    pl.DataFrame(
        {
            "channel": np.full(len(cells.track_id), channel, dtype=np.int32),
            "track_id": cells.track_id.astype(np.int32),
            "parent_id": 0 if parents is None else parents,
            "frame": cells.detections.frame.astype(np.int32),
            "y_px": cells.detections.y_px,
            "x_px": cells.detections.x_px,
        }
    ).write_parquet(folder / "tracks.parquet")
    return folder


def two_cells(shift_px: float = 0.0) -> Tracks:
    frame = np.repeat(np.arange(FRAMES), 2)
    second = np.tile([0, 1], FRAMES)
    return Tracks(
        Detections(
            frame=frame,
            label=second + 1,
            y_px=20.0 + 40 * second + shift_px,
            x_px=np.where(second, 80 - 3 * frame, 20 + 3 * frame) + shift_px,
        ),
        track_id=second + 1,
        splits=np.zeros((0, 2), dtype=np.int64),
    )


def test_track_ids_do_not_matter_but_links_do(output, bench):
    renamed = changed(output, "renamed", track_id=pl.col("track_id") + 40)
    same = bench.agreement(output, renamed)
    assert (same.same, same.score, same.details["links_reference"]) == (True, 1, 10)
    shorter = bench.agreement(output, changed(output, "cut", track_id=CUT))
    assert not shorter.same
    assert shorter.details["link_precision"] == 1.0
    assert shorter.details["link_recall"] == 0.8
    assert shorter.score == pytest.approx(2 * 8 / 18)


def test_outputs_without_links_agree_only_on_the_same_cells(output, bench):
    lonely = changed(output, "lonely", track_id=pl.int_range(1, 1 + pl.len(), dtype=pl.Int32))
    other = changed(lonely, "other", label=pl.col("label") + 50)
    assert bench.agreement(lonely, lonely).score == 1
    assert bench.agreement(lonely, other).score == 0


def test_the_context_of_a_window_is_not_compared(label_movie, bench):
    labels = label_movie([[(20, 20 + t)] for t in range(12)])
    narrow, wide = (
        bench.done("run", labels, output=str(context), frames=(5, 8), overlap_frames=context)
        for context in (4, 5)
    )
    agreement = bench.agreement(narrow, wide)
    assert agreement.score == 1.0
    assert agreement.details["links_reference"] == 2


def test_a_table_without_a_column_is_named(output, bench):
    table = changed(output, "broken") / "tracks.parquet"
    pl.read_parquet(table).drop("label").write_parquet(table)
    assert str(table) in bench.refused("check", output, table.parent)


def test_the_second_output_is_compared_with_the_truth(output, bench, tmp_path):
    truth = truth_of(two_cells(shift_px=0.5), tmp_path / "truth")
    cut = changed(output, "cut", track_id=CUT)
    assert bench.checked(output, cut, truth=truth).quality == {
        "link_precision": 1.0,
        "link_recall": 0.8,
        "detection_precision": 1.0,
        "detection_recall": 1.0,
    }


def test_swapped_cells_cost_precision_and_recall(tmp_path):
    found = two_cells()
    late = found.detections.frame >= 4
    swapped = Tracks(
        found.detections, np.where(late, 3 - found.track_id, found.track_id), found.splits
    )
    quality = link_quality(swapped, truth_of(found, tmp_path / "truth"), (0, FRAMES))
    assert (quality["link_precision"], quality["link_recall"]) == (0.8, 0.8)


def test_a_cell_that_was_not_segmented_costs_detections_not_links(tmp_path):
    true = two_cells()
    seen = np.ones(len(true.track_id), dtype=bool)
    seen[4] = False
    found = Tracks(true.detections.where(seen), true.track_id[seen], true.splits)
    quality = link_quality(found, truth_of(true, tmp_path / "truth"), (0, FRAMES))
    assert (quality["link_precision"], quality["link_recall"]) == (1.0, 1.0)
    assert quality["detection_recall"] == pytest.approx(11 / 12)


def test_a_true_division_is_a_link_from_the_parent_to_each_child(tmp_path):
    frame = np.array([0, 1, 2, 2])
    cells = Detections(frame, np.array([1, 1, 1, 2]), np.array([9.0, 9, 5, 13]), np.full(4, 9.0))
    divided = Tracks(cells, np.array([1, 1, 2, 3]), np.array([[1, 2], [1, 3]]))
    truth = truth_of(divided, tmp_path / "truth", parents=pl.Series([0, 0, 1, 1]))
    assert set(link_quality(divided, truth, (0, 3)).values()) == {1.0}
    undivided = Tracks(cells, np.array([1, 1, 1, 2]), np.zeros((0, 2), dtype=np.int64))
    missed = link_quality(undivided, truth, (0, 3))
    assert missed["link_precision"] == 1.0
    assert missed["link_recall"] == pytest.approx(2 / 3)
    assert missed["division_recall"] == 0
    assert "division_precision" not in missed
    invented = link_quality(divided, truth_of(undivided, tmp_path / "undivided"), (0, 3))
    assert invented["division_precision"] == 0
    assert "division_recall" not in invented


def test_of_two_channels_the_segmented_one_is_the_truth(tmp_path):
    found = two_cells()
    right = truth_of(found, tmp_path / "right", channel=1)
    wrong = truth_of(two_cells(shift_px=30.0), tmp_path / "wrong", channel=0)
    both = tmp_path / "both"
    both.mkdir()
    pl.concat(
        [pl.read_parquet(wrong / "tracks.parquet"), pl.read_parquet(right / "tracks.parquet")]
    ).write_parquet(both / "tracks.parquet")
    assert set(link_quality(found, both, (0, FRAMES)).values()) == {1.0}


def test_a_truth_that_is_none_is_named(output, bench, tmp_path):
    said = bench.refused("check", output, output, truth=tmp_path / "nowhere")
    assert "nowhere holds no truth that pyscale reads" in said


@pytest.mark.slow
def test_links_on_real_cells_agree_with_the_reference_tracker(
    hela_masks, hela_labels, shared_data, bench, tmp_path
):
    cells = joined(detect(mask, frame) for frame, mask in enumerate(hela_masks))
    reference = shared_data / "hela-tracking" / "res_track.txt"
    parent_of = {row[0]: row[3] for row in np.loadtxt(reference, dtype=int)}
    parents = pl.Series([parent_of.get(label, 0) for label in cells.label.tolist()])
    none = np.zeros((0, 2), dtype=np.int64)
    truth = truth_of(Tracks(cells, cells.label, none), tmp_path / "truth", parents=parents)

    quality = bench.quality(bench.done("run", hela_labels), truth)
    assert quality["detection_recall"] == quality["detection_precision"] == 1.0
    assert quality["link_precision"] >= 0.994
    assert quality["link_recall"] >= 0.993
    # The reference is a tracker's, too: in 27 of its 106 divisions the mother keeps her place and
    # 85 % of her area while another cell appears near, and it lacks some in which a cell halves.
    assert quality["division_recall"] >= 0.7
    assert quality["division_precision"] >= 0.8
