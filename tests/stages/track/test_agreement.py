import shutil

import numpy as np
import polars as pl
import pytest

from pyscale_stages.track.agreement import ctc_measures, link_quality
from pyscale_stages.track.lineage import Detections, Tracks, detect, joined, tracks_of

FRAMES = 6


@pytest.fixture
def output(label_movie, bench):
    return bench.done("run", label_movie([[(20, 20 + 3 * t), (60, 80 - 3 * t)] for t in range(6)]))


CUT = pl.when(pl.col("frame") < 3).then(pl.col("track_id")).otherwise(pl.col("track_id") + 2)


def changed(output, name, **columns):
    copy = output.with_name(name)
    shutil.copytree(output, copy)
    table = pl.read_parquet(copy / "tracks.parquet")
    table.with_columns(**columns).write_parquet(copy / "tracks.parquet")
    return copy


def truth_of(cells, folder, channel=0, parents=None):
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


def two_cells(shift_px=0.0):
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


def test_the_context_of_a_window_is_not_compared(label_movie, bench):
    labels = label_movie([[(20, 20 + t)] for t in range(12)])
    narrow, wide = (
        bench.done("run", labels, output=str(context), frames=(5, 8), overlap_frames=context)
        for context in (4, 5)
    )
    agreement = bench.agreement(narrow, wide)
    assert agreement.score == 1.0
    assert agreement.details["links_reference"] == 2


def test_the_second_output_is_compared_with_the_truth(output, bench, tmp_path):
    truth = truth_of(two_cells(shift_px=0.5), tmp_path / "truth")
    cut = changed(output, "cut", track_id=CUT)
    assert bench.checked(output, cut, truth=truth).quality == {
        "link_precision": 1.0,
        "link_recall": 0.8,
        "detection_precision": 1.0,
        "detection_recall": 1.0,
    }


def test_swapped_cells_cost_links_and_one_that_was_not_segmented_costs_detections(tmp_path):
    true = two_cells()
    truth = truth_of(true, tmp_path / "truth")
    late = true.detections.frame >= 4
    swapped = Tracks(true.detections, np.where(late, 3 - true.track_id, true.track_id), true.splits)
    quality = link_quality(swapped, truth, (0, FRAMES))
    assert (quality["link_precision"], quality["link_recall"]) == (0.8, 0.8)
    seen = np.ones(len(true.track_id), dtype=bool)
    seen[4] = False
    fewer = Tracks(true.detections.where(seen), true.track_id[seen], true.splits)
    quality = link_quality(fewer, truth, (0, FRAMES))
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
    both = truth_of(found, tmp_path / "both", channel=1)
    right = pl.read_parquet(both / "tracks.parquet")
    wrong = right.with_columns(pl.lit(0, pl.Int32).alias("channel"), pl.col("y_px", "x_px") + 30)
    pl.concat([wrong, right]).write_parquet(both / "tracks.parquet")
    assert set(link_quality(found, both, (0, FRAMES)).values()) == {1.0}


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


FAMILY = np.array([3, 4, 4, 5, 5])
"""A mother in frame 3, her daughters in frames 4 and 5."""
TRUE_LINKS = [(0, 1), (0, 2), (1, 3), (2, 4)]


def tracks(links, frames=FAMILY):
    place = np.arange(len(frames))
    detections = Detections(frames, place + 1, place.astype(float), place.astype(float))
    return tracks_of(detections, np.array(links, np.int64).reshape(-1, 2))


def measured(found, true, frames=(3, 6)):
    """Where each cell that was found is the true one of the same place."""
    pairs = np.stack([np.arange(len(found.track_id))] * 2, axis=1)
    return ctc_measures(found, true, pairs, frames)


@pytest.mark.parametrize(
    ("links", "cells", "det", "lnk"),
    [
        (TRUE_LINKS, 5, 1, 1),
        # One link of four is missing, at a cost of 1.5 each.
        ([(0, 1), (0, 2), (1, 3)], 5, 1, 0.75),
        # Without one daughter the mother goes on: one link is missing and one is of another kind.
        ([(0, 1), (1, 3), (2, 4)], 5, 1, 1 - 2.5 / 6),
        ([], 5, 1, 0),
        # A cell that was not found costs its links too.
        (TRUE_LINKS[:3], 4, 0.8, 0.75),
    ],
)
def test_links_cost_what_the_challenge_says(links, cells, det, lnk):
    found = measured(tracks(links, FAMILY[:cells]), tracks(TRUE_LINKS))
    assert found["ctc_det"] == pytest.approx(det)
    assert found["ctc_lnk"] == pytest.approx(lnk)
    assert found["ctc_tra"] == pytest.approx((50 * det + 6 * lnk) / 56)
