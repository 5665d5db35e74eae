"""Strong and weak scaling: the speedup is that in work done per second."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.losses import (
    curve_work,
    loss_table,
    scaled_serial_fraction,
)


def test_where_the_time_went_is_told_phase_by_phase(new_run):
    load = {"model_load": 60.0}
    builder = new_run().trial("track", [load | {"compute": 400.0}])
    workers = [load | {"compute": compute_s} for compute_s in (200.0, 220.0)]
    builder.trial("track", workers, merge={"merge": 10.0})
    table = loss_table(builder.trials).filter(pl.col("workers") == 2)
    growth = dict(zip(table["part"], table["growth_s"], strict=True))
    # 2 * 290 - 460 = 120 worker-seconds more than one worker needed.
    expected = {"idle": 30, "compute": 20, "model_load": 60, "merge": 10}
    assert {part: growth[part] for part in expected} == pytest.approx(expected)
    assert sum(growth.values()) == pytest.approx(120)


COUNTS = (1, 2, 4)


def weak(new_run):
    """20 frames and 100 s of compute for each worker at every N, beside a fixed 10 s."""
    spent = {"model_load": 10.0, "compute": 100.0}
    merge, frames = (lambda n, _: {"merge": float(n)}), (lambda n, _: 20 * n)
    return new_run().curve("segment", lambda *_: spent, COUNTS, merge=merge, movie_frames=frames)


@pytest.mark.parametrize(
    ("works", "workers", "kind"),
    [
        ((80, 80, 80), COUNTS, "strong"),
        ((20, 40, 80), COUNTS, "weak"),
        # As a table may write it: 0.1 for each worker, which no float is exactly.
        ((0.1, 0.2, 0.4), COUNTS, "weak"),
        ((80, 80, 90), COUNTS, "mixed"),
        ((1, 1.5625, 1.5625), COUNTS, "mixed"),
        ((80, None, 80), COUNTS, None),
        ((0, 0, 0), COUNTS, None),
        # One number of workers is neither.
        ((20,), (1,), None),
        ((20, 20), (2, 2), None),
    ],
)
def test_the_kind_of_scaling_is_that_of_the_work(works, workers, kind):
    work = pl.Series("work", works, pl.Float64, strict=False)
    assert curve_work(pl.DataFrame([pl.Series("workers", workers), work])).kind == kind


def test_weak_scaling_gives_the_scaled_speedup_and_its_efficiency(new_run):
    rows = weak(new_run).configurations
    assert rows["scaling"].to_list() == ["weak"] * 3
    assert rows["work"].to_list() == [20, 40, 80]
    assert rows["growth"].to_list() == [1, 2, 4]
    # One window needs no merge; 112 s and 114 s with those of two and four.
    assert rows["wall_s"].to_list() == pytest.approx([110, 112, 114])
    assert rows["efficiency"].to_list() == pytest.approx([1, 110 / 112, 110 / 114])
    assert rows["speedup"].to_list() == pytest.approx([1, 2 * 110 / 112, 4 * 110 / 114])
    assert rows["computation_scaling"].to_list() == pytest.approx([1, 1, 1])


@given(serial=st.floats(0, 1), workers=st.integers(2, 512))
def test_the_serial_fraction_of_gustafsons_law_is_found_again(serial, workers):
    speedup = workers - serial * (workers - 1)
    assert scaled_serial_fraction(speedup, workers) == pytest.approx(serial, abs=1e-9)


def test_each_law_of_a_serial_fraction_is_given_for_its_own_kind_of_scaling(new_run):
    rows = weak(new_run).configurations
    assert rows["karp_flatt"].null_count() == 3
    for row in rows.rows(named=True)[1:]:
        found = scaled_serial_fraction(row["speedup"], row["workers"])
        assert row["gustafson"] == pytest.approx(found)
    assert rows["gustafson"][0] is None
    frames = {"movie_frames": lambda n, _: 40 + n}
    mixed = new_run().curve("segment", lambda *_: 90.0, COUNTS, 1, **frames).configurations
    assert mixed["scaling"].to_list() == ["mixed"] * 3
    assert mixed["karp_flatt"].null_count() == mixed["gustafson"].null_count() == 3
