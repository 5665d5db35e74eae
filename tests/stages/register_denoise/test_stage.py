from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.contract import TaskResult
from pyscale_stages.movie import Pixels

RunStage = Callable[..., TaskResult]
Specimen = Callable[..., Pixels]
Noisy = Callable[[Pixels, int], Pixels]
FILES = ("frames.ome.tif", "transforms.parquet", "valid.ome.tif", "window.json")
FAST: dict[str, Any] = {"iterations": [500, 500, 100, 0]}


def contents(folder: Path) -> dict[str, bytes]:
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    return {name: (folder / name).read_bytes() for name in FILES}


def transforms(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "transforms.parquet")


def write(path: Path, pixels: Pixels, axes: str) -> Path:
    tifffile.imwrite(path, pixels, ome=True, photometric="minisblack", metadata={"axes": axes})
    return path


@pytest.mark.slow
@pytest.mark.parametrize("transform", ["Translation", "SyN"])
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, transform: str
) -> None:
    params = FAST | {"transform": transform}
    first = stage("run", drifting_movie, output=tmp_path / "a", params=params)
    second = stage("run", drifting_movie, output=tmp_path / "b", params=params)
    assert first.error is None
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert [o.sha256 for o in first.outputs] == [o.sha256 for o in second.outputs]


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"reference_frame": 3, "denoiser": "nlm"},
        {"denoiser": "ants"},
        {"reference": "previous", "transform": "Rigid"},
    ],
    ids=str,
)
def test_merged_windows_are_the_whole_movies_output_to_the_byte(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, chosen: dict[str, Any]
) -> None:
    params = FAST | chosen
    stage("run", drifting_movie, output=tmp_path / "whole", params=params)
    for name, frames in (("late", "2:4"), ("early", "0:2")):
        options = ("--frames", frames)
        stage("run", drifting_movie, output=tmp_path / name, params=params, options=options)

    windows = [tmp_path / "late", tmp_path / "early"]
    merged = stage("merge", *windows, output=tmp_path / "merged", params=params)

    assert merged.error is None
    assert merged.counters.frames == 4
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")


def test_shifts_between_neighbours_add_up_to_the_drift_since_the_first_frame(
    tmp_path: Path, stage: RunStage, specimen: Specimen, noisy: Noisy
) -> None:
    drift = [(1.5 * t, -1.25 * t) for t in range(6)]
    pixels = np.stack([noisy(specimen((96, 128), at), t) for t, at in enumerate(drift)])
    movie = write(tmp_path / "m.ome.tif", pixels, "TYX")
    params = {"reference": "previous", "denoiser": "none"}
    stage("run", movie, output=tmp_path / "out", params=params)

    table = transforms(tmp_path / "out")

    assert table["status"].to_list() == ["reference", *["registered"] * 5]
    assert table.select("ty_px", "tx_px").to_numpy() == pytest.approx(np.array(drift), abs=0.3)
    inner = tifffile.imread(tmp_path / "out" / "frames.ome.tif")[:, 10:-10, 10:-10]
    assert np.corrcoef(inner.reshape(6, -1))[0].min() > 0.95


def test_the_frames_after_one_of_one_value_go_on_from_where_it_was(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    drifting_pixels = drifting_pixels[[0, 1, 1, 1]]
    drifting_pixels[2] = 100
    movie = write(tmp_path / "m.ome.tif", drifting_pixels, "TYX")
    params = FAST | {"reference": "previous"}
    result = stage("run", movie, output=tmp_path / "out", params=params)
    table = transforms(tmp_path / "out")
    assert table["status"].to_list() == ["reference", "registered", "constant", "constant"]
    assert len(table["ty_px"][1:].unique()) == 1
    assert "or the frame before them has" in result.warnings[0]


def test_the_valid_area_is_what_the_camera_saw_of_each_frame(
    tmp_path: Path, stage: RunStage, drifting_movie: Path
) -> None:
    stage("run", drifting_movie, output=tmp_path / "out")
    seen = tifffile.imread(tmp_path / "out" / "valid.ome.tif")
    frames = tifffile.imread(tmp_path / "out" / "frames.ome.tif")
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


@pytest.mark.parametrize("spoilt", ["no valid area", "smaller frames"])
def test_a_spoilt_window_is_not_merged(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, drifting_pixels: Pixels, spoilt: str
) -> None:
    for name, frames in (("w0", "0:2"), ("w1", "2:4")):
        stage("run", drifting_movie, output=tmp_path / name, options=("--frames", frames))
    if spoilt == "no valid area":
        (tmp_path / "w1" / "valid.ome.tif").unlink()
        said = "w1 has no valid.ome.tif: run the stage on that window again"
    else:
        write(tmp_path / "w1" / FILES[0], drifting_pixels[2:, :80], "TYX")
        said = "does not hold 2 frames like those of"
    error = stage("merge", tmp_path / "w0", tmp_path / "w1", output=tmp_path / "merged").error
    assert error is not None
    assert error.exit_code == 2
    assert said in error.message
    assert not list((tmp_path / "merged").glob("*"))


def test_windows_of_one_frame_and_two_channels_merge_to_the_whole(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    movie = write(tmp_path / "m.ome.tif", np.stack([drifting_pixels[:2]] * 2, axis=1), "TCYX")
    stage("run", movie, output=tmp_path / "whole")
    for t in (0, 1):
        stage("run", movie, output=tmp_path / f"w{t}", options=("--frames", f"{t}:{t + 1}"))
    stage("merge", tmp_path / "w0", tmp_path / "w1", output=tmp_path / "merged")
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")


def test_the_table_says_where_each_frame_was_and_the_reference_stays(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, drift_truth: Path
) -> None:
    params = {"reference_frame": 1, "denoiser": "none"}
    stage("run", drifting_movie, output=tmp_path / "out", params=params)

    table = transforms(tmp_path / "out")

    drift = pl.read_parquet(drift_truth / "drift.parquet").select("dy_px", "dx_px").to_numpy()
    assert table["frame"].to_list() == [0, 1, 2, 3]
    assert table["status"].to_list() == ["registered", "reference", "registered", "registered"]
    found = table.select("ty_px", "tx_px").to_numpy()
    assert found == pytest.approx(drift - drift[1], abs=0.2)
    assert found[1].tolist() == [0, 0]
    raw, corrected = tifffile.imread(drifting_movie), tifffile.imread(tmp_path / "out" / FILES[0])
    assert np.array_equal(raw[1], corrected[1])


def test_all_channels_move_by_the_transform_of_the_chosen_one(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    # Channel 0 stands still; if it were the one registered, nothing would move.
    still = np.repeat(drifting_pixels[:1], 3, axis=0)
    two = np.stack([still, drifting_pixels[:3]], axis=1)
    movie = write(tmp_path / "two.ome.tif", two, "TCYX")
    alone = write(tmp_path / "one.ome.tif", drifting_pixels[:3], "TYX")
    params = FAST | {"denoiser": "none"}
    stage("run", movie, output=tmp_path / "two", params=params | {"channel": 1})
    stage("run", alone, output=tmp_path / "one", params=params)

    assert transforms(tmp_path / "two").equals(transforms(tmp_path / "one"))
    corrected = tifffile.imread(tmp_path / "two" / FILES[0])
    assert corrected.shape == two.shape
    assert corrected.dtype == np.uint16
    assert np.array_equal(corrected[:, 1], tifffile.imread(tmp_path / "one" / FILES[0]))
    # Frame 1 drifted by 5 px along y: the still channel is pulled by as much.
    assert np.corrcoef(corrected[1, 0, :-8].ravel(), still[1, 5:-3].ravel())[0, 1] > 0.99


def test_denoising_alone_moves_nothing(
    tmp_path: Path, stage: RunStage, drifting_movie: Path
) -> None:
    stage("run", drifting_movie, output=tmp_path / "out", params={"registration": False})
    table = transforms(tmp_path / "out")
    assert set(table["status"]) == {"not_registered"}
    assert not table.select("ty_px", "tx_px", "m01", "m10").to_numpy().any()
    raw, denoised = tifffile.imread(drifting_movie), tifffile.imread(tmp_path / "out" / FILES[0])
    assert not np.array_equal(raw, denoised)
    correlations = [
        np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(raw, denoised, strict=True)
    ]
    assert min(correlations) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("denoiser", ["wavelet", "nlm"])
def test_ants_is_not_imported_where_nothing_needs_it(
    tmp_path: Path, drifting_movie: Path, denoiser: str
) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"registration": False, "denoiser": denoiser}))
    arguments = ["register_denoise", "run", "--input", str(drifting_movie)]
    arguments += ["--output", str(tmp_path / "out"), "--params", str(tmp_path / "p.json")]
    program = (
        "import sys, time; from pyscale_stages.commandline import main; "
        f"code = main({arguments!r}, time.monotonic()); "
        "sys.exit(code or 'ants' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_frames_without_a_cameras_noise_are_counted_in_a_warning(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    pixels = drifting_pixels.copy()
    pixels[2] = 7
    movie = write(tmp_path / "m.ome.tif", pixels, "TYX")
    result = stage("run", movie, output=tmp_path / "out", params={"registration": False})
    assert "1 of 4 images show no noise that can be estimated" in result.warnings[-1]
    assert (tifffile.imread(tmp_path / "out" / FILES[0])[2] == 7).all()


def test_transforms_do_not_depend_on_the_denoising(
    tmp_path: Path, stage: RunStage, drifting_movie: Path
) -> None:
    stage("run", drifting_movie, output=tmp_path / "with", params=FAST)
    stage("run", drifting_movie, output=tmp_path / "without", params=FAST | {"denoiser": "none"})
    assert transforms(tmp_path / "with").equals(transforms(tmp_path / "without"))
    assert contents(tmp_path / "with")[FILES[0]] != contents(tmp_path / "without")[FILES[0]]


def test_floating_point_frames_stay_so(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    movie = write(tmp_path / "m.ome.tif", (drifting_pixels[:2] / 1000).astype(np.float32), "TYX")
    stage("run", movie, output=tmp_path / "out")
    corrected = tifffile.imread(tmp_path / "out" / FILES[0])
    assert corrected.dtype == np.float32
    assert 0 < corrected.mean() < 3


def test_a_frame_of_one_value_is_left_where_it_is_with_a_warning(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    pixels = drifting_pixels.copy()
    pixels[2] = 0
    movie = write(tmp_path / "m.ome.tif", pixels, "TYX")
    result = stage("run", movie, output=tmp_path / "out")
    row = transforms(tmp_path / "out").row(2, named=True)
    assert (row["status"], row["ty_px"], row["tx_px"]) == ("constant", 0, 0)
    assert not tifffile.imread(tmp_path / "out" / FILES[0])[2].any()
    (warning,) = result.warnings
    assert warning.startswith("1 of 4 frames were not moved: they have one value")


def test_a_reference_of_one_value_is_refused(
    tmp_path: Path, stage: RunStage, drifting_pixels: Pixels
) -> None:
    pixels = drifting_pixels.copy()
    pixels[0] = 100
    movie = write(tmp_path / "m.ome.tif", pixels, "TYX")
    result = stage("run", movie, output=tmp_path / "out", options=("--frames", "1:3"))
    assert result.error is not None
    assert result.error.exit_code == 2
    assert "reference frame 0" in result.error.message
    assert not (tmp_path / "out").exists()


def test_no_scratch_file_of_ants_stays_behind(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    stage("run", drifting_movie, output=tmp_path / "out", params=FAST | {"transform": "SyN"})
    assert list(scratch.iterdir()) == []
    contents(tmp_path / "out")
