"""What cannot be tracked ends with exit code 2, one sentence, and no output."""

import numpy as np
import pytest
import tifffile

CELLS = np.zeros((4, 32, 32), dtype=np.uint16)
CELLS[:, 4:9, 4:9] = 1
NEGATIVE = CELLS.astype(np.int16)
NEGATIVE[3, 20, 20] = -1


@pytest.mark.parametrize(
    ("frames", "params", "sentence"),
    [
        (NEGATIVE, {}, "frame 3 has labels from -1 to 1"),
        (np.zeros_like(CELLS), {}, "no label in any frame"),
        (CELLS, {"max_distance_px": 0}, "greater than 0"),
        (CELLS, {"backend": "btrack"}, "'laptrack', 'overlap' or 'trackmate'"),
        (CELLS, {"gap_frames": 5, "overlap_frames": 9}, "must be at least 10 for gap_frames 5"),
        (CELLS, {"backend": "overlap", "gap_frames": 5, "overlap_frames": 4}, "be at least 5"),
        (CELLS, {"splitting_distance_px": -1}, "greater than 0"),
        (CELLS, {"splitting": "perhaps"}, "splitting"),
    ],
)
def test_no_labels_and_parameters_that_mean_nothing_are_refused(
    frames, params, sentence, bench, movie_of
):
    assert sentence in bench.refused("run", movie_of(frames), **params)


def test_a_folder_of_label_frames_may_hold_other_files(bench, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for index, frame in enumerate(CELLS):
        tifffile.imwrite(folder / f"mask{index}.tif", frame)
    (folder / "res_track.txt").write_text("1 0 3 0\n")
    bench.done("run", folder)
