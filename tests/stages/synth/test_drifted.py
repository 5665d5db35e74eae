import numpy as np
import polars as pl
import pytest
import tifffile
from scipy.ndimage import gaussian_filter, shift

from atleastone import some
from pyscale_stages.errors import BadInput
from pyscale_stages.synth.drifted import DriftedParams, write_drifted_movie
from refusals import refused

PARAMS = DriftedParams(
    source="blobs", image="image.tif", labels="labels.tif", seed=103, frames=5, peak_photons=2000
)
SIZE = 100


@pytest.fixture
def source(tmp_path):
    """Folder with an image of blobs, one of which no frame shows, and their labels."""
    folder = tmp_path / "blobs"
    folder.mkdir()
    labels = np.zeros((SIZE, SIZE), np.uint16)
    for label, (y, x) in {4: (30, 40), 9: (60, 30), 11: (70, 70), 12: (0, 0)}.items():
        labels[y : y + 8, x : x + 10] = label
    image = gaussian_filter(np.where(labels > 0, 200.0, 5.0), 1.5)
    tifffile.imwrite(folder / "image.tif", np.rint(image).astype(np.uint8))
    tifffile.imwrite(folder / "labels.tif", labels)
    return folder


def test_frames_are_the_image_moved_by_the_true_drift_in_noise_as_strong_as_the_truth_says(
    source, tmp_path
):
    folder = write_drifted_movie(tmp_path / "movie", PARAMS, source)
    movie = tifffile.imread(folder / "movie.ome.tif").astype(float)
    drift = pl.read_parquet(folder / "truth" / "camera" / "drift.parquet")
    assert movie.shape == (5, SIZE - 20, SIZE - 20)
    for frame, dy, dx in drift.iter_rows():
        back = shift(movie[frame], (-dy, -dx), order=3)[15:-15, 15:-15]
        assert np.corrcoef(back.ravel(), movie[0][15:-15, 15:-15].ravel())[0, 1] > 0.99
    noise = pl.read_parquet(folder / "truth" / "camera" / "noise.parquet")
    clean = tifffile.imread(folder / "truth" / "camera" / "clean_ch0.ome.tif").astype(float)
    rms = np.sqrt(((movie - clean) ** 2).mean(axis=(1, 2)))
    assert noise["frame"].to_list() == list(range(PARAMS.frames))
    assert noise["noise_rms_counts"].to_numpy() == pytest.approx(rms)


@pytest.mark.parametrize("name", ["camera", "specimen"])
def test_truth_fits_the_frames_in_both_coordinates(name, source, tmp_path):
    truth = write_drifted_movie(tmp_path / "movie", PARAMS, source) / "truth" / name
    labels = tifffile.imread(truth / "labels_ch0.ome.tif")
    clean = tifffile.imread(truth / "clean_ch0.ome.tif").astype(float)
    # Nuclei are bright, and the ground is not; the noise-free frames tell them apart alone.
    assert ((clean > 100 + 2 * 1000) == (labels > 0)).mean() > 0.98
    tracks = pl.read_parquet(truth / "tracks.parquet")
    assert sorted(tracks["track_id"].unique()) == [4, 9, 11]
    assert tracks["parent_id"].sum() == 0
    assert len(tracks) == 3 * PARAMS.frames


def test_true_labels_of_the_specimen_end_where_the_camera_saw_nothing(source, tmp_path):
    everywhere = np.ones((SIZE, SIZE), np.uint16)
    tifffile.imwrite(source / "labels.tif", everywhere)
    truth = write_drifted_movie(tmp_path / "movie", PARAMS, source) / "truth"
    labels = tifffile.imread(truth / "specimen" / "labels_ch0.ome.tif")
    drift = pl.read_parquet(truth / "specimen" / "drift.parquet")
    for frame, *shift_yx in some(drift.iter_rows()):
        rows, columns = (np.rint(np.arange(SIZE - 20) + by) for by in shift_yx)
        seen = [(at >= 0) & (at < SIZE - 20) for at in (rows, columns)]
        assert (labels[frame] == np.logical_and.outer(*seen)).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.zeros((SIZE, SIZE + 1), np.uint16),
        np.zeros((SIZE, SIZE), np.float32),
        np.full((SIZE, SIZE), 70_000, np.uint32),
    ],
    ids=["of another size", "fractions", "32 bits"],
)
def test_labels_that_do_not_fit_are_refused(labels, source, tmp_path):
    tifffile.imwrite(source / "labels.tif", labels)
    with refused(BadInput):
        write_drifted_movie(tmp_path / "movie", PARAMS, source)
    assert not (tmp_path / "movie").exists()
