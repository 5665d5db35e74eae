import tempfile

import numpy as np
import polars as pl
import pytest
import tifffile

FILES = ("frames.ome.tif", "transforms.parquet", "valid.ome.tif", "window.json")


def contents(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    return {name: (folder / name).read_bytes() for name in FILES}


def transforms(folder):
    return pl.read_parquet(folder / "transforms.parquet")


def frames_in(folder):
    return tifffile.imread(folder / "frames.ome.tif")


@pytest.fixture
def with_one_value(drifting_pixels, movie_of):
    def write(frame, value):
        pixels = drifting_pixels.copy()
        pixels[frame] = value
        return movie_of(pixels)

    return write


@pytest.mark.slow
@pytest.mark.parametrize("transform", ["Translation", "SyN"])
def test_the_same_seed_gives_the_same_bytes_and_leaves_no_scratch_file_of_ants(
    tmp_path, bench, drifting_movie, monkeypatch, transform
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    params = {"transform": transform, "denoiser": "wavelet"}
    first = bench.run("run", drifting_movie, output="a", **params)
    second = bench.run("run", drifting_movie, output="b", **params)
    assert first.error is None
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert [o.sha256 for o in first.outputs] == [o.sha256 for o in second.outputs]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "chosen",
    [
        {"denoiser": "wavelet"},
        {"reference_frame": 3, "denoiser": "ants"},
        {"denoiser": "ants"},
        {"reference": "previous", "transform": "Rigid", "denoiser": "wavelet"},
        {"backend": "fft", "denoiser": "wavelet"},
        {"backend": "fft", "reference": "previous"},
    ],
    ids=str,
)
def test_merged_windows_are_the_whole_movies_output_to_the_byte(bench, drifting_movie, chosen):
    whole = bench.done("run", drifting_movie, **chosen)
    windows = bench.windows(drifting_movie, (2, 4), (0, 2), **chosen)
    merged = bench.run("merge", *windows, output="merged", **chosen)
    assert merged.error is None
    assert merged.counters.frames == 4
    assert contents(bench.folder / "merged") == contents(whole)


def test_shifts_between_neighbours_add_up_to_the_drift_since_the_first_frame(
    accurate, specimen, noisy, movie_of
):
    drift = [(1.5 * t, -1.25 * t) for t in range(6)]
    pixels = np.stack([noisy(specimen((96, 128), at), t) for t, at in enumerate(drift)])
    out = accurate.done("run", movie_of(pixels), reference="previous")
    table = transforms(out)
    assert table["status"].to_list() == ["reference", *["registered"] * 5]
    assert table.select("ty_px", "tx_px").to_numpy() == pytest.approx(np.array(drift), abs=0.3)
    inner = frames_in(out)[:, 10:-10, 10:-10]
    assert np.corrcoef(inner.reshape(6, -1))[0].min() > 0.95


def test_the_frames_after_one_of_one_value_go_on_from_where_it_was(
    bench, drifting_pixels, movie_of
):
    pixels = drifting_pixels[[0, 1, 1, 1]]
    pixels[2] = 100
    result = bench.run("run", movie_of(pixels), reference="previous")
    table = transforms(bench.folder / "out")
    assert table["status"].to_list() == ["reference", "registered", "constant", "constant"]
    assert len(table["ty_px"][1:].unique()) == 1
    assert "were moved like the frame before them" in result.warnings[0]


def test_the_valid_area_is_what_the_camera_saw_of_each_frame(bench, drifting_movie):
    out = bench.done("run", drifting_movie)
    seen, frames = tifffile.imread(out / "valid.ome.tif"), frames_in(out)
    assert seen.shape == frames.shape
    assert seen[0].all()
    # The drift is 5 px down; 3.25 px up and 2.5 px right; 1.75 px down and 6 px left.
    rows_and_columns = [(p.any(axis=1).sum(), p.any(axis=0).sum()) for p in seen[1:]]
    assert np.array(rows_and_columns) == pytest.approx(
        np.array([(91, 128), (93, 126), (94, 122)]), abs=1
    )
    for frame, page in zip(frames[1:], seen[1:], strict=True):
        (fill,) = np.unique(frame[page == 0])
        # Moving blurs a little, so that what was seen has another 1st percentile now.
        assert frame[page == 1].min() <= fill <= np.percentile(frame[page == 1], 3)


def test_a_window_that_was_compressed_otherwise_merges_to_the_same_bytes(bench, drifting_movie):
    whole = bench.done("run", drifting_movie)
    windows = bench.windows(drifting_movie, (0, 2), (2, 4))
    for name in ("frames.ome.tif", "valid.ome.tif"):
        pixels = tifffile.imread(windows[1] / name)
        tifffile.imwrite(windows[1] / name, pixels, compression="lzw", metadata={"axes": "TYX"})
    assert contents(bench.done("merge", *windows, output="merged")) == contents(whole)


def test_the_table_says_where_each_frame_was_and_the_reference_stays(
    accurate, drifting_movie, drift_truth
):
    out = accurate.done("run", drifting_movie, reference_frame=1)
    table = transforms(out)
    drift = pl.read_parquet(drift_truth / "drift.parquet").select("dy_px", "dx_px").to_numpy()
    assert table["frame"].to_list() == [0, 1, 2, 3]
    assert table["status"].to_list() == ["registered", "reference", "registered", "registered"]
    found = table.select("ty_px", "tx_px").to_numpy()
    assert found == pytest.approx(drift - drift[1], abs=0.2)
    assert found[1].tolist() == [0, 0]
    assert np.array_equal(tifffile.imread(drifting_movie)[1], frames_in(out)[1])


def test_all_channels_move_by_the_transform_of_the_chosen_one(bench, drifting_pixels, movie_of):
    # Channel 0 stands still; if it were the one registered, nothing would move.
    still = np.repeat(drifting_pixels[:1], 3, axis=0)
    two = np.stack([still, drifting_pixels[:3]], axis=1)
    both = bench.done("run", movie_of(two, axes="TCYX"), output="both", channel=1)
    alone = bench.done("run", movie_of(drifting_pixels[:3], "alone.ome.tif"), output="alone")
    assert transforms(both).equals(transforms(alone))
    corrected = frames_in(both)
    assert corrected.shape == two.shape
    assert corrected.dtype == np.uint16
    assert np.array_equal(corrected[:, 1], frames_in(alone))
    # Frame 1 drifted by 5 px along y: the still channel is pulled by as much.
    assert np.corrcoef(corrected[1, 0, :-8].ravel(), still[1, 5:-3].ravel())[0, 1] > 0.99


@pytest.mark.parametrize("backend", ["ants", "fft"])
def test_a_frame_of_one_value_is_left_as_and_where_it_is_with_warnings(
    bench, with_one_value, backend
):
    result = bench.run("run", with_one_value(2, 7), denoiser="wavelet", backend=backend)
    row = transforms(bench.folder / "out").row(2, named=True)
    assert (row["status"], row["ty_px"], row["tx_px"]) == ("constant", 0, 0)
    assert (frames_in(bench.folder / "out")[2] == 7).all()
    unmoved, noisy = result.warnings
    assert unmoved.startswith("1 of 4 frames were not moved: they, or")
    assert "1 of 4 images show no noise that can be estimated" in noisy


def test_a_reference_of_one_value_is_refused(bench, with_one_value):
    bench.refused("run", with_one_value(0, 100), frames=(1, 3))
    assert not (bench.folder / "refused").exists()
