"""What cannot be tracked ends with exit code 2, one sentence, and no output."""

import numpy as np
import pytest
import tifffile

CELLS = np.zeros((4, 32, 32), dtype=np.uint16)
CELLS[:, 4:9, 4:9] = 1
NEGATIVE = CELLS.astype(np.int16)
NEGATIVE[3, 20, 20] = -1


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (NEGATIVE, "frame 3 has labels from -1 to 1"),
        (np.zeros_like(CELLS), "no label in any frame"),
    ],
    ids=["negative labels", "no cell"],
)
def test_frames_that_are_no_labels_are_refused(frames, sentence, bench, movie_of):
    assert sentence in bench.refused("run", movie_of(frames))


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"max_distance_px": 0}, "greater than 0"),
        ({"backend": "btrack"}, "'laptrack', 'overlap' or 'trackmate'"),
        ({"gap_frames": 5, "overlap_frames": 9}, "must be at least 10 for gap_frames 5"),
        ({"backend": "overlap", "gap_frames": 5, "overlap_frames": 4}, "must be at least 5"),
        ({"splitting_distance_px": -1}, "greater than 0"),
        ({"splitting": "perhaps"}, "splitting"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(params, sentence, bench, movie_of):
    assert sentence in bench.refused("run", movie_of(CELLS), **params)


def test_a_folder_of_label_frames_may_hold_other_files(bench, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for index, frame in enumerate(CELLS):
        tifffile.imwrite(folder / f"mask{index}.tif", frame)
    (folder / "res_track.txt").write_text("1 0 3 0\n")
    bench.done("run", folder)
