"""What cannot be tracked ends with exit code 2, one sentence, and no output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tifffile

TrackStage = Callable[..., int]
Frames = npt.NDArray[Any]

CELLS = np.zeros((4, 32, 32), dtype=np.uint16)
CELLS[:, 4:9, 4:9] = 1


def written(path: Path, frames: Frames, axes: str) -> Path:
    tifffile.imwrite(path, frames, ome=True, photometric="minisblack", metadata={"axes": axes})
    return path


def with_nan() -> Frames:
    frames = CELLS.astype(np.float32)
    frames[2, 0, 0] = np.nan
    return frames


def negative() -> Frames:
    frames = CELLS.astype(np.int16)
    frames[3, 20, 20] = -1
    return frames


BAD_FRAMES = {
    "float labels": (CELLS.astype(np.float32), "TYX", "labels are whole numbers"),
    "not a number": (with_nan(), "TYX", "labels are whole numbers"),
    "negative labels": (negative(), "TYX", "frame 3 has labels from -1 to 1"),
    "channels": (np.stack([CELLS, CELLS], axis=1), "TCYX", "2 channels"),
    "volume": (np.stack([CELLS, CELLS], axis=1), "TZYX", "axes TZYX"),
    "no cell": (np.zeros_like(CELLS), "TYX", "no label in any frame"),
}


@pytest.fixture
def refused(
    track_stage: TrackStage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run the stage, which must refuse; returns what it said."""

    def call(labels: Path, **options: object) -> str:
        output = tmp_path / "output"
        assert track_stage("run", labels, output=output, **options) == 2
        assert not output.exists()
        said = capsys.readouterr().err.strip()
        assert said.startswith("error: ")
        assert len(said.splitlines()) == 1
        return said

    return call


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_frames_that_are_no_labels_are_refused(
    name: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    frames, axes, sentence = BAD_FRAMES[name]
    assert sentence in refused(written(tmp_path / "bad.ome.tif", frames, axes))


def test_a_truncated_file_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    path = written(tmp_path / "cut.ome.tif", CELLS, "TYX")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "cut.ome.tif" in refused(path)


@pytest.mark.parametrize(("text", "sentence"), [("", "0 bytes"), ("1 0 30 0\n", "not a TIFF")])
def test_a_file_that_is_no_image_is_refused(
    text: str, sentence: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "res_track.tif"
    path.write_text(text)
    assert sentence in refused(path)


def test_a_folder_without_frames_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    (folder / "res_track.txt").write_text("1 0 30 0\n")
    assert "no TIFF frames" in refused(folder)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"axes": "TCYX"}, "--axes TCYX"),
        ({"frames": (2, 9)}, "0:4"),
        ({"max_distance": 15}, "did you mean 'max_distance_px'?"),
        ({"max_distance_px": 0}, "greater than 0"),
        ({"backend": "btrack"}, "'laptrack', 'overlap' or 'trackmate'"),
        ({"gap_frames": 5, "overlap_frames": 9}, "must be at least 10 for gap_frames 5"),
        ({"backend": "overlap", "gap_frames": 5, "overlap_frames": 4}, "must be at least 5"),
        ({"splitting_distance_px": -1}, "greater than 0"),
        ({"splitting": "perhaps"}, "splitting"),
    ],
)
def test_options_and_parameters_that_mean_nothing_are_refused(
    params: dict[str, object], sentence: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = written(tmp_path / "labels.ome.tif", CELLS, "TYX")
    assert sentence in refused(path, **params)


def test_a_folder_of_label_frames_may_hold_other_files(
    track_stage: TrackStage, tmp_path: Path
) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    for index, frame in enumerate(CELLS):
        tifffile.imwrite(folder / f"mask{index}.tif", frame)
    (folder / "res_track.txt").write_text("1 0 3 0\n")
    assert track_stage("run", folder, output=tmp_path / "output") == 0
