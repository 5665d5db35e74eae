import numpy as np
import pytest

from pyscale_stages.contract import Window
from pyscale_stages.segment.labels import LABELS_FILE, LabelStack
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.truth.cells import Matches, match_cells


def squares(*corners, values=None):
    """Label image with a square of 10 x 10 pixels at each corner."""
    labels = np.zeros((60, 60), np.uint16)
    for value, (y, x) in zip(values or range(1, 99), corners, strict=False):
        labels[y : y + 10, x : x + 10] = value
    return labels


def lacking(*pixels):
    labels = squares((0, 0))
    for place in pixels:
        labels[place] = 0
    return labels


HALVES = squares((0, 0))
HALVES[:10, 5:10] = 2
THREE = squares((0, 0), (20, 20), (40, 5))


@pytest.mark.parametrize(
    ("reference", "other", "matched", "precision"),
    [
        (THREE, squares((0, 0), (20, 20), (40, 5), values=[700, 3, 41]), (3, 3), 1),
        # Moved by 3 of 10 pixels the overlap is 70 of 130 pixels; by 4 it is 60 of 140.
        (squares((0, 0)), squares((0, 3)), (1, 0), 1),
        (squares((0, 0)), squares((0, 4)), (0, 0), 0),
        # Nine tenths of the union are shared, and then one pixel less.
        (squares((0, 0)), lacking(np.s_[0, :10]), (1, 1), 1),
        (squares((0, 0)), lacking(np.s_[0, :10], np.s_[1, 0]), (1, 0), 1),
        (squares((0, 0)), HALVES, (1, 0), 1 / 2),
        (HALVES, squares((0, 0)), (1, 0), 1 / 2),
        (THREE, squares((0, 0), (45, 45)), (1, 1), 1 / 4),
        (squares(), squares(), (0, 0), 1),
        (squares((0, 0)), squares(), (0, 0), 0),
        (squares(), squares((0, 0)), (0, 0), 0),
    ],
    ids=[
        *("other labels", "half", "less than half", "nine tenths", "less than these"),
        *("halves of one", "one of halves", "missed and invented", "none", "lost", "new"),
    ],
)
def test_cells_match_where_they_share_half_of_their_union(reference, other, matched, precision):
    found = match_cells(reference, other)
    assert (found.matched, found.matched_closely) == matched
    assert (found.cells_reference, found.cells_other) == (
        len(np.unique(reference)) - 1,
        len(np.unique(other)) - 1,
    )
    assert found.average_precision == pytest.approx(precision)


def test_close_precision_is_of_all_cells_of_all_frames_and_seg_of_the_true_ones():
    assert match_cells(THREE, THREE).close_precision == 1
    assert match_cells(squares((0, 0)), lacking(np.s_[0, :10], np.s_[1, 0])).close_precision == 0
    full = Matches(matched=9, cells_reference=9, cells_other=9)
    failed = Matches(matched=0, cells_reference=1, cells_other=0)
    assert (full + failed).average_precision == pytest.approx(0.9)
    true = np.zeros((10, 40), np.uint16)
    true[:, :10], true[:, 10:20], true[:, 20:30] = 1, 2, 3
    found = np.zeros_like(true)
    # Of the first 8 of 10 columns; of the second half, which is not most; of the third none.
    found[:, :8], found[:, 10:15] = 5, 6
    assert match_cells(true, found).jaccard == pytest.approx(0.8)


def written(folder, frames, first=0, movie_frames=2):
    folder.mkdir()
    stack = LabelStack()
    for frame in frames:
        stack.add(frame)
    stack.write(folder / LABELS_FILE)
    window = Window(
        stage="segment",
        frames=(first, first + len(frames)),
        movie_frames=movie_frames,
        params=SegmentParams().model_dump(mode="json"),
        seed=0,
        inputs={"frames": "0" * 64},
    )
    (folder / "window.json").write_text(window.model_dump_json(), encoding="utf-8")
    return folder


TWO, OTHER_TWO = squares((0, 0), (20, 20)), squares((40, 40), (0, 20))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([TWO, squares()], [TWO, squares()], {"score": 1, "identical": True}),
        ([TWO] * 2, [squares((0, 0), (20, 20), values=[2, 1])] * 2, {"score": 1}),
        # Two thirds of both cells are shared, so that they are right and not the same.
        ([squares((0, 0))] * 2, [squares((0, 2))] * 2, {"score": 0, "ap_iou90": 0, "ap_iou50": 1}),
        ([TWO, OTHER_TWO], [OTHER_TWO, TWO], {"score": 0}),
        ([TWO, OTHER_TWO], [TWO, squares((40, 40))], {"score": 3 / 4, "worst_frame": 1 / 2}),
    ],
    ids=["the same", "other labels", "two thirds", "swapped frames", "a lost cell"],
)
def test_outputs_agree_as_far_as_their_cells_do(bench, tmp_path, first, second, expected):
    result = bench.checked(written(tmp_path / "a", first), written(tmp_path / "b", second))
    assert result.quality == {}
    found = result.agreement
    assert found.score == pytest.approx(expected.pop("score"))
    assert found.same == (found.score == 1)
    assert found.identical == expected.pop("identical", False)
    assert found.details.items() >= expected.items()
    assert found.details["cells_other"] == sum(int(frame.max()) for frame in second)


@pytest.mark.slow
def test_truth_gives_the_quality_of_the_second_output_or_of_the_frames_of_a_window(
    bench, whole, windows, movie
):
    for folder in (whole, windows[2]):
        assert bench.quality(folder, movie / "truth" / "camera")["ap_iou50"] >= 0.85


@pytest.mark.usefixtures("kept_model")
def test_where_the_first_frames_count_the_truth_of_the_others_does_not(bench, frames, movie):
    first = bench.done("run", frames, movie_frames=2)
    truth = movie / "truth" / "camera"
    assert bench.quality(first, truth, movie_frames=2)["ap_iou50"] >= 0.85
    bench.refused("check", first, first, truth=truth)


@pytest.mark.parametrize(
    ("name", "images"),
    [
        ("labels_ch0.ome.tif", [squares()]),
        *(
            (name, [np.ones((130, 144), np.uint16)] * 5)
            for name in ("labels_ch0.ome.tif", "mine.tif")
        ),
    ],
    ids=["frames", "size", "size of label images"],
)
def test_truth_of_another_movie_is_refused(bench, whole, tmp_path, name, images):
    stack = LabelStack()
    for image in images:
        stack.add(image)
    stack.write(tmp_path / name)
    truth = tmp_path if name.endswith(".ome.tif") else tmp_path / name
    bench.refused("check", whole, whole, truth=truth)
