import numpy as np
import polars as pl
import pytest

from pyscale_stages.contact.agreement import agreement_of
from pyscale_stages.contact.tables import joined


def three_cells():
    """Cells 1 and 7 touch along three pixels, 9 stands alone."""
    image = np.zeros((9, 11), np.uint16)
    image[2:4, 2:5], image[4:6, 2:5], image[2:5, 8:10] = 1, 7, 9
    return image


@pytest.mark.parametrize("image", [three_cells(), np.zeros((9, 11), np.uint16)])
def test_an_output_agrees_with_itself_also_without_cells(measured, image):
    tables = measured(image)
    agreement = agreement_of(tables, tables, identical=True)
    assert agreement.same
    assert agreement.score == agreement.tolerance == 1
    assert agreement.details["largest_centroid_shift_px"] == 0


def test_an_offset_of_frames_between_windows_or_of_labels_is_found(measured):
    reference = joined(measured(three_cells(), frame=frame) for frame in range(4))
    offset = joined(measured(three_cells(), frame=frame) for frame in (0, 1, 0, 1))
    agreement = agreement_of(reference, offset, identical=False)
    assert not agreement.same
    assert agreement.score < 1
    image = three_cells()
    agreement = agreement_of(measured(image), measured(image + 1 * (image > 0)), identical=False)
    assert not agreement.same
    assert agreement.details["pair_recall"] == 0


def test_one_pixel_less_of_contact_is_found(measured):
    less = three_cells()
    less[4, 4] = 0
    agreement = agreement_of(measured(three_cells()), measured(less), identical=False)
    assert not agreement.same
    assert agreement.details["pair_precision"] == agreement.details["pair_recall"] == 1
    assert agreement.details["same_contacts"] == 0
    assert agreement.details["same_cells"] == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("shift_px", "label", "score"),
    [(0.01, None, 0), (0.01, 9, 2 / 4), (0.0005, None, 1)],
    ids=["all", "one: two of four different rows in either", "rounding"],
)
def test_centroids_elsewhere_cost_their_cells_alone(measured, shift_px, label, score):
    tables = measured(three_cells())
    moves = pl.lit(value=True) if label is None else pl.col("label") == label
    shift = pl.when(moves).then(shift_px).otherwise(0.0)
    moved = tables | {"cells": tables["cells"].with_columns(pl.col("x_px") + shift)}
    agreement = agreement_of(tables, moved, identical=False)
    assert agreement.score == agreement.details["same_cells"] == pytest.approx(score)
    assert agreement.same == (score == 1)
    assert agreement.details["same_contacts"] == agreement.details["same_neighbours"] == 1
    assert agreement.details["largest_centroid_shift_px"] == pytest.approx(shift_px)


def cells_of(*changes):
    """`three_cells` where pixels, given by an index or a mask, belong to other cells."""
    image = three_cells()
    for where, label in changes:
        image[where] = label
    return image


@pytest.fixture
def truth(tmp_path):
    """Truth of two frames like `three_cells`, where 9 truly touches 7 in the second."""
    folder = tmp_path / "truth"
    folder.mkdir()
    places = {10: (2.5, 3.0), 20: (4.5, 3.0), 30: (3.0, 8.5)}
    rows = [(0, track, frame, *place) for frame in (0, 1) for track, place in places.items()]
    names = ("channel", "track_id", "frame")
    schema = dict.fromkeys(names, pl.Int32) | dict.fromkeys(("y_px", "x_px"), pl.Float64)
    pl.DataFrame(rows, schema, orient="row").write_parquet(folder / "tracks.parquet")
    return with_contacts(folder, (0, 10, 20), (1, 10, 20), (1, 20, 30))


def with_contacts(folder, *rows):
    """Write frame and tracks of each true contact."""
    schema = dict.fromkeys(("frame", "label_a", "label_b"), pl.Int32)
    contacts = pl.DataFrame(rows, schema, orient="row").with_columns(contact_px=3)
    contacts.write_parquet(folder / "contacts.parquet")
    return folder


CELLS, ONE, NINE = three_cells(), three_cells() == 1, three_cells() == 9
BELOW = np.s_[6:8, 2:5]


@pytest.mark.parametrize(
    ("frames", "window", "expected"),
    [
        ([CELLS, cells_of((ONE, 500), (NINE, 2))], None, (1, 1, 2 / 3)),
        ([CELLS, CELLS], (0, 1), (1, 1, 1)),
        ([cells_of((BELOW, 4)), CELLS * 0], None, (3 / 6, 1 / 2, 1 / 3)),
        # Farther off than its own radius.
        ([cells_of((NINE, 0), (np.s_[6:8, 8:10], 9))] * 2, None, (4 / 6, 1, 2 / 3)),
    ],
    ids=["other labels", "a window", "a false cell", "too far off"],
)
def test_quality_counts_true_pairs_of_cells(bench, movie_of, truth, frames, window, expected):
    done = bench.done("run", movie_of(frames), frames=window)
    names = ("matched_cells", "contact_precision", "contact_recall")
    found = bench.quality(done, truth)
    assert found == pytest.approx(dict(zip(names, expected, strict=True)))


def test_truth_of_two_cell_types_does_not_judge_contacts_of_one(bench, movie_of, truth):
    tracks = pl.read_parquet(truth / "tracks.parquet")
    second = tracks.with_columns(pl.lit(1, pl.Int32).alias("channel"))
    pl.concat([tracks, second]).write_parquet(truth / "tracks.parquet")
    done = bench.done("run", movie_of([three_cells()] * 2))
    bench.refused("check", done, done, truth=truth)


@pytest.fixture
def truth_of_two_types(truth):
    """The same truth, but 30 is of the second type, and touches 20 in both frames."""
    tracks = pl.read_parquet(truth / "tracks.parquet")
    second = (pl.col("track_id") == 30).cast(pl.Int32)
    tracks.with_columns(channel=second).write_parquet(truth / "tracks.parquet")
    return with_contacts(truth, (0, 20, 30), (1, 20, 30))


def test_without_a_cell_of_one_type_no_contact_is_recalled_and_precision_is_left_out(
    bench, movie_of, truth_of_two_types
):
    first = cells_of((NINE, 0))
    movies = movie_of([first] * 2), movie_of([first * 0] * 2, "other.ome.tif")
    result = bench.checked(bench.done("run", *movies), truth=truth_of_two_types)
    assert result.quality == {"matched_cells": pytest.approx(4 / 6), "contact_recall": 0}
    (warning,) = result.warnings
    assert warning.startswith("contact_precision is left out, because no contact was measured")


def test_without_true_contacts_recall_is_left_out(bench, movie_of, truth_of_two_types):
    with_contacts(truth_of_two_types)
    near = np.zeros_like(CELLS)
    near[5:7, 2:5] = 4
    movies = movie_of([CELLS] * 2), movie_of([near] * 2, "other.ome.tif")
    result = bench.checked(bench.done("run", *movies), truth=truth_of_two_types)
    assert result.quality["contact_precision"] == 0
    assert "contact_recall" not in result.quality
    (warning,) = result.warnings
    assert warning.startswith("contact_recall is left out, because the truth has no contact")
