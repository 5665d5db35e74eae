from collections import Counter

import numpy as np
import polars as pl
import tifffile
from scipy import ndimage


def labels_of(truth):
    files = sorted(truth.glob("labels_ch*.ome.tif"))
    return [tifffile.imread(file) for file in files]


def contacts_one_by_one(labels):
    """Every pixel against itself and its four neighbours, in plain Python."""
    found = Counter()
    first, second = labels[0], labels[-1]
    n_frames, height, width = first.shape
    for frame in range(n_frames):
        for y, x in zip(*np.nonzero(first[frame]), strict=True):
            a = int(first[frame, y, x])
            for dy, dx in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
                if 0 <= y + dy < height and 0 <= x + dx < width:
                    b = int(second[frame, y + dy, x + dx])
                    if b and (len(labels) == 2 or a < b):
                        found[frame, a, b] += 1
    return found


def test_contacts_are_those_of_the_label_images_and_no_table_lacks_a_value(any_truth):
    for name in ("drift", "tracks", "contacts"):
        table = pl.read_parquet(any_truth / f"{name}.parquet")
        assert len(table) > 0
        assert table.null_count().sum_horizontal().sum() == 0
    table = pl.read_parquet(any_truth / "contacts.parquet")
    # Plain Python looks at every third frame.
    expected = contacts_one_by_one([stack[::3] for stack in labels_of(any_truth)])
    assert len(expected) > 20
    every_third = table.filter(pl.col("frame") % 3 == 0)
    assert {(f // 3, a, b): n for f, a, b, n in every_third.iter_rows()} == dict(expected)
    assert table.schema == dict.fromkeys(("frame", "label_a", "label_b", "contact_px"), pl.Int32)


def test_tracks_are_the_centroids_of_the_label_images(any_truth):
    table = pl.read_parquet(any_truth / "tracks.parquet")
    rows = 0
    for channel, stack in enumerate(labels_of(any_truth)):
        for frame, image in enumerate(stack):
            ids = np.unique(image[image > 0])
            here = table.filter(channel=channel, frame=frame).sort("track_id")
            assert here["track_id"].to_list() == ids.tolist()
            centres = ndimage.center_of_mass(image > 0, image, ids)
            np.testing.assert_allclose(here.select("y_px", "x_px").to_numpy(), centres)
            rows += len(ids)
    assert rows == len(table) == len(table.unique(["track_id", "frame"]))


def test_divisions_keep_the_mother(any_truth):
    table = pl.read_parquet(any_truth / "tracks.parquet")
    assert table.group_by("track_id").agg(pl.col("parent_id").n_unique())["parent_id"].max() == 1
    births = table.sort("frame").group_by("track_id").first().filter(pl.col("parent_id") > 0)
    assert len(births) >= 6
    last = table.sort("frame").group_by("track_id").last()
    family = births.join(last, left_on="parent_id", right_on="track_id", suffix="_mother")
    assert len(family) == len(births)
    assert (family["frame"] == family["frame_mother"] + 1).all()
    assert (family["channel"] == family["channel_mother"]).all()
    distance = np.hypot(
        family["y_px"] - family["y_px_mother"], family["x_px"] - family["x_px_mother"]
    )
    assert distance.max() < 2 * 7 + 6
    children = births.group_by("parent_id").len()["len"]
    assert children.max() == 2
    assert (children == 2).mean() > 0.6


def test_drift_is_the_shift_between_the_two_coordinate_systems(any_movie):
    truth = any_movie / "truth"
    drift = pl.read_parquet(truth / "camera" / "drift.parquet")
    assert drift.equals(pl.read_parquet(truth / "specimen" / "drift.parquet"))
    assert drift.row(0) == (0, 0.0, 0.0)
    assert drift["dy_px"].abs().max() > 0.5
    camera, specimen = (
        pl.read_parquet(truth / name / "tracks.parquet") for name in ("camera", "specimen")
    )
    height, width = tifffile.TiffFile(any_movie / "movie.ome.tif").series[0].shape[-2:]
    both = camera.join(specimen, on=("track_id", "frame"), suffix="_still").join(drift, on="frame")
    # Cells cut by the frame's edge are cut differently in the two.
    edge = 20
    inside = both.filter(
        pl.col("y_px_still").is_between(edge, height - edge),
        pl.col("x_px_still").is_between(edge, width - edge),
    )
    assert len(inside) > 200
    for axis in ("y", "x"):
        error = inside[f"{axis}_px"] - inside[f"{axis}_px_still"] - inside[f"d{axis}_px"]
        # What is left is the rounding of outlines to pixels, largest for half-covered cells.
        assert float(error.abs().max()) < 0.6
        assert float(error.std()) < 0.12
        assert abs(float(error.mean())) < 0.01
