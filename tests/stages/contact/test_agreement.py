from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pyscale_stages.contact.agreement import agreement_of
from pyscale_stages.contact.tables import Tables, joined
from pyscale_stages.contract import TaskResult

RunContact = Callable[..., TaskResult]
LabelMovie = Callable[..., Path]
Measure = Callable[..., Tables]


def three_cells() -> Any:
    """Cells 1 and 7 touch along three pixels, 9 stands alone."""
    image = np.zeros((9, 11), np.uint16)
    image[2:4, 2:5], image[4:6, 2:5], image[2:5, 8:10] = 1, 7, 9
    return image


def test_an_output_agrees_with_itself(measured: Measure) -> None:
    tables = measured(three_cells())
    agreement = agreement_of(tables, tables, identical=True)
    assert agreement.same
    assert agreement.score == agreement.tolerance == 1
    assert agreement.details["largest_centroid_shift_px"] == 0


def test_two_outputs_without_cells_agree(measured: Measure) -> None:
    tables = measured(np.zeros((9, 11), np.uint16))
    assert agreement_of(tables, tables, identical=True).same


def test_an_offset_of_frames_between_windows_is_found(measured: Measure) -> None:
    reference = joined(measured(three_cells(), frame=frame) for frame in range(4))
    offset = joined(measured(three_cells(), frame=frame) for frame in (0, 1, 0, 1))
    agreement = agreement_of(reference, offset, identical=False)
    assert not agreement.same
    assert agreement.score < 1


def test_an_offset_of_labels_is_found(measured: Measure) -> None:
    image = three_cells()
    agreement = agreement_of(measured(image), measured(image + 1 * (image > 0)), identical=False)
    assert not agreement.same
    assert agreement.details["pair_recall"] == 0


def test_one_pixel_less_of_contact_is_found(measured: Measure) -> None:
    less = three_cells()
    less[4, 4] = 0
    agreement = agreement_of(measured(three_cells()), measured(less), identical=False)
    assert not agreement.same
    assert agreement.details["pair_precision"] == agreement.details["pair_recall"] == 1
    assert agreement.details["same_contacts"] == 0
    assert agreement.details["same_cells"] == pytest.approx(2 / 4)


def test_a_centroid_elsewhere_is_found(measured: Measure) -> None:
    tables = measured(three_cells())
    moved = tables | {"cells": tables["cells"].with_columns(pl.col("x_px") + 0.01)}
    agreement = agreement_of(tables, moved, identical=False)
    assert agreement.score == agreement.details["same_cells"] == 0
    assert not agreement.same
    assert agreement.details["same_contacts"] == agreement.details["same_neighbours"] == 1
    assert agreement.details["largest_centroid_shift_px"] == pytest.approx(0.01)


def test_one_centroid_elsewhere_costs_its_cell_alone(measured: Measure) -> None:
    tables = measured(three_cells())
    shift = pl.when(pl.col("label") == 9).then(0.01).otherwise(0.0)
    moved = tables | {"cells": tables["cells"].with_columns(pl.col("x_px") + shift)}
    agreement = agreement_of(tables, moved, identical=False)
    # Two of four different rows in either.
    assert agreement.score == pytest.approx(2 / 4)
    assert agreement.score < agreement.tolerance


def test_rounding_moves_no_cell(measured: Measure) -> None:
    tables = measured(three_cells())
    moved = tables | {"cells": tables["cells"].with_columns(pl.col("x_px") + 0.0005)}
    assert agreement_of(tables, moved, identical=False).same


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    """Truth of two frames like `three_cells`, where 9 truly touches 7 in the second."""
    folder = tmp_path / "truth"
    folder.mkdir()
    places = {10: (2.5, 3.0), 20: (4.5, 3.0), 30: (3.0, 8.5)}
    pl.DataFrame(
        {
            "channel": [0] * 6,
            "track_id": [*places, *places],
            "frame": [0, 0, 0, 1, 1, 1],
            "y_px": [y for y, _ in places.values()] * 2,
            "x_px": [x for _, x in places.values()] * 2,
        },
        schema_overrides={"channel": pl.Int32, "track_id": pl.Int32, "frame": pl.Int32},
    ).write_parquet(folder / "tracks.parquet")
    pl.DataFrame(
        {"frame": [0, 1, 1], "label_a": [10, 10, 20], "label_b": [20, 20, 30], "contact_px": 3},
        schema_overrides=dict.fromkeys(("frame", "label_a", "label_b"), pl.Int32),
    ).write_parquet(folder / "contacts.parquet")
    return folder


def test_quality_counts_true_pairs_whatever_the_labels_are_called(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth: Path
) -> None:
    first, second = three_cells(), three_cells()
    second[second == 1], second[second == 9] = 500, 2
    done = tmp_path / "done"
    run_contact("run", label_movie([first, second]), output=done)
    quality = run_contact("check", done, done, truth=truth).quality
    assert quality == {
        "matched_cells": 1,
        "contact_precision": 1,
        "contact_recall": pytest.approx(2 / 3),
    }


def test_quality_of_a_window_is_measured_on_its_frames_alone(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth: Path
) -> None:
    done = tmp_path / "done"
    run_contact("run", label_movie([three_cells()] * 2), output=done, frames=(0, 1))
    quality = run_contact("check", done, done, truth=truth).quality
    assert quality == {"matched_cells": 1, "contact_precision": 1, "contact_recall": 1}


def test_contacts_of_a_cell_that_is_not_there_are_false(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth: Path
) -> None:
    image = three_cells()
    image[6:8, 2:5] = 4
    done = tmp_path / "done"
    run_contact("run", label_movie([image, image * 0]), output=done)
    quality = run_contact("check", done, done, truth=truth).quality
    assert quality == {
        "matched_cells": pytest.approx(3 / 6),
        "contact_precision": pytest.approx(1 / 2),
        "contact_recall": pytest.approx(1 / 3),
    }


def test_a_cell_farther_off_than_its_own_radius_is_not_the_true_one(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth: Path
) -> None:
    image = three_cells()
    image[image == 9] = 0
    image[6:8, 8:10] = 9
    done = tmp_path / "done"
    run_contact("run", label_movie([image] * 2), output=done)
    quality = run_contact("check", done, done, truth=truth).quality
    assert quality["matched_cells"] == pytest.approx(4 / 6)


def test_truth_of_two_cell_types_does_not_judge_contacts_of_one(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth: Path
) -> None:
    tracks = pl.read_parquet(truth / "tracks.parquet")
    second = tracks.with_columns(pl.lit(1, pl.Int32).alias("channel"))
    pl.concat([tracks, second]).write_parquet(truth / "tracks.parquet")
    done = tmp_path / "done"
    run_contact("run", label_movie([three_cells()] * 2), output=done)
    error = run_contact("check", done, done, truth=truth).error
    assert error is not None
    assert error.exit_code == 2
    assert "was measured on 1 type(s) of cells, but the truth" in error.message


@pytest.fixture
def truth_of_two_types(truth: Path) -> Path:
    """The same truth, but 30 is of the second type, and touches 20 in both frames."""
    tracks = pl.read_parquet(truth / "tracks.parquet")
    second = (pl.col("track_id") == 30).cast(pl.Int32)
    tracks.with_columns(channel=second).write_parquet(truth / "tracks.parquet")
    pl.DataFrame(
        {"frame": [0, 1], "label_a": [20, 20], "label_b": [30, 30], "contact_px": 3},
        schema_overrides=dict.fromkeys(("frame", "label_a", "label_b"), pl.Int32),
    ).write_parquet(truth / "contacts.parquet")
    return truth


def test_without_a_cell_of_one_type_no_contact_is_recalled_and_precision_is_left_out(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth_of_two_types: Path
) -> None:
    first = three_cells() * (three_cells() != 9)
    done = tmp_path / "done"
    movies = label_movie([first] * 2), label_movie([first * 0] * 2, "other.ome.tif")
    assert run_contact("run", *movies, output=done).error is None
    result = run_contact("check", done, done, truth=truth_of_two_types)
    assert result.error is None
    assert result.quality == {"matched_cells": pytest.approx(4 / 6), "contact_recall": 0}
    (warning,) = result.warnings
    assert warning.startswith("contact_precision is left out, because no contact was measured")


def test_without_true_contacts_recall_is_left_out(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path, truth_of_two_types: Path
) -> None:
    contacts = pl.read_parquet(truth_of_two_types / "contacts.parquet")
    contacts.clear().write_parquet(truth_of_two_types / "contacts.parquet")
    near = np.zeros_like(three_cells())
    near[5:7, 2:5] = 4
    done = tmp_path / "done"
    run_contact(
        "run", label_movie([three_cells()] * 2), label_movie([near] * 2, "o.ome.tif"), output=done
    )
    result = run_contact("check", done, done, truth=truth_of_two_types)
    assert result.quality["contact_precision"] == 0
    assert "contact_recall" not in result.quality
    (warning,) = result.warnings
    assert warning.startswith("contact_recall is left out, because the truth has no contact")


def test_a_whole_output_is_compared_to_the_byte(
    run_contact: RunContact, label_movie: LabelMovie, tmp_path: Path
) -> None:
    moved = np.roll(three_cells(), 1, axis=1)
    for name, image in (("a", three_cells()), ("b", three_cells()), ("c", moved)):
        run_contact("run", label_movie([image], f"{name}.ome.tif"), output=tmp_path / name)
    for other, identical in (("b", True), ("c", False)):
        agreement = run_contact("check", tmp_path / "a", tmp_path / other).agreement
        assert agreement is not None
        assert agreement.identical == identical
