import numpy as np
import pytest
import tifffile

CELLS = np.zeros((4, 32, 32), dtype=np.uint16)
CELLS[:, 4:9, 4:9] = 1
NEGATIVE = CELLS.astype(np.int16)
NEGATIVE[3, 20, 20] = -1


@pytest.mark.parametrize(
    ("frames", "params"),
    [
        pytest.param(NEGATIVE, {}, id="frame 3 has labels from -1 to 1"),
        pytest.param(np.zeros_like(CELLS), {}, id="no label in any frame"),
        pytest.param(CELLS, {"max_distance_px": 0}, id="greater than 0"),
        pytest.param(CELLS, {"backend": "btrack"}, id="laptrack, sparse, overlap or trackmate"),
        pytest.param(CELLS, {"gap_frames": 5, "overlap_frames": 9}, id="must be at least 10 for"),
        pytest.param(CELLS, {"splitting_distance_px": -1}, id="greater than 0 2"),
        pytest.param(CELLS, {"splitting": "perhaps"}, id="splitting"),
    ],
)
def test_no_labels_and_parameters_that_mean_nothing_are_refused(frames, params, bench, movie_of):
    bench.refused("run", movie_of(frames), **params)


def test_a_folder_of_label_frames_may_hold_other_files(bench, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for index, frame in enumerate(CELLS):
        tifffile.imwrite(folder / f"mask{index}.tif", frame)
    (folder / "res_track.txt").write_text("1 0 3 0\n")
    bench.done("run", folder)
