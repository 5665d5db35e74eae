from collections import Counter

import numpy as np
import polars as pl
import pytest
import tifffile
from scipy import ndimage

from atleastone import some
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie


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


def test_a_track_stays_in_one_channel_and_moves_in_small_steps(any_truth):
    table = pl.read_parquet(any_truth / "tracks.parquet")
    assert table.group_by("track_id").agg(pl.col("channel").n_unique())["channel"].max() == 1
    steps = table.sort("track_id", "frame").with_columns(
        again=pl.col("frame").diff().over("track_id") == 1,
        step=(pl.col("y_px").diff() ** 2 + pl.col("x_px").diff() ** 2).sqrt().over("track_id"),
    )
    moved = steps.filter(pl.col("again"))["step"]
    assert len(moved) > 200
    # Mean speed 1.5 px; pushing neighbours and drift add to it, but no cell jumps over another.
    assert 0.5 < float(moved.median()) < 4
    assert float(moved.max()) < 14


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


def test_both_coordinate_systems_are_one_in_frame_0_and_without_drift(any_movie, tmp_path):
    both = (labels_of(any_movie / "truth" / name) for name in ("camera", "specimen"))
    for camera, specimen in some(zip(*both, strict=True)):
        np.testing.assert_array_equal(camera[0], specimen[0])
        assert not np.array_equal(camera[-1], specimen[-1])
    params = SynthParams(frames=3, height_px=80, width_px=80, cells=8, radius_px=6, max_drift_px=0)
    truth = write_synthetic_movie(tmp_path / "m", params) / "truth"
    for file in some((truth / "specimen").iterdir()):
        assert file.read_bytes() == (truth / "camera" / file.name).read_bytes()


def test_the_movie_shows_light_where_the_camera_labels_are(any_movie):
    movie = tifffile.imread(any_movie / "movie.ome.tif")
    for channel, labels in some(enumerate(labels_of(any_movie / "truth" / "camera"))):
        images = movie[:, channel] if movie.ndim == 4 else movie
        for image, label in some(zip(images, labels, strict=True)):
            away = ndimage.binary_dilation(label > 0, iterations=3)
            assert np.median(image[label > 0]) > 2 * np.median(image[~away])
            # Counts above the offset follow the cells, not their place before the drift.
            assert np.corrcoef(image.ravel(), (label > 0).ravel())[0, 1] > 0.75


def test_clean_frames_are_the_movie_without_its_noise(two_types):
    movie = tifffile.imread(two_types / "movie.ome.tif").astype(float)
    truth = two_types / "truth" / "camera"
    table = pl.read_parquet(truth / "noise.parquet").sort("channel", "frame")
    assert table.columns == ["channel", "frame", "noise_rms_counts"]
    for channel in (0, 1):
        clean = tifffile.imread(truth / f"clean_ch{channel}.ome.tif")
        assert clean.dtype == np.uint16
        noise = movie[:, channel] - clean
        assert abs(noise.mean()) < 0.1
        told = table.filter(pl.col("channel") == channel)
        assert told["frame"].to_list() == list(range(len(movie)))
        assert told["noise_rms_counts"].to_numpy() == pytest.approx(
            noise.std(axis=(1, 2)), rel=1e-3
        )
        # Photon noise: the variance grows by the gain of 2 counts.
        bright = clean > np.quantile(clean, 0.95)
        grown = noise[bright].var() / clean[bright].mean()
        assert 1.2 < grown < 2.5
