"""Strong and weak scaling: the speedup is that in work done per second."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.growth import curve_work, scaled_serial_fraction
from pyscale.analysis.intervals import ratio_interval
from pyscale.analysis.losses import loss_table
from pyscale.analysis.scaling import configurations

COUNTS = (1, 2, 4)


def weak(new_run, scatter=0.0):
    """20 frames and 100 s of compute for each worker at every N, beside a fixed 10 s."""

    def spent(n, block):
        slower = 1 + scatter * ((block * 7 + n) % 5)
        return {"model_load": 10 * slower, "compute": 100 * slower}

    merge, frames = (lambda n, _: {"merge": float(n)}), (lambda n, _: 20 * n)
    return new_run().curve("segment", spent, COUNTS, merge=merge, movie_frames=frames).trials


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


def test_growth_is_the_work_over_the_baselines_and_where_some_is_unknown_nothing_is_scaled():
    found = curve_work(pl.DataFrame({"workers": [2, 4, 4, 4], "work": [10.0, 19, 20, 35]}))
    assert (found.kind, found.growth(2), found.growth(4)) == ("weak", 1, 2)
    found = curve_work(pl.DataFrame({"workers": [1, 2, 2], "work": [10.0, 20.0, None]}))
    assert (found.kind, found.by_workers, found.growth(2)) == (None, {1: 10, 2: None}, 1)


def test_weak_scaling_gives_the_scaled_speedup_and_its_efficiency(new_run):
    rows = configurations(weak(new_run))
    assert rows["scaling"].to_list() == ["weak"] * 3
    assert rows["work"].to_list() == [20, 40, 80]
    assert rows["growth"].to_list() == [1, 2, 4]
    # One window needs no merge; 112 s and 114 s with those of two and four.
    assert rows["wall_s"].to_list() == pytest.approx([110, 112, 114])
    assert rows["efficiency"].to_list() == pytest.approx([1, 110 / 112, 110 / 114])
    assert rows["speedup"].to_list() == pytest.approx([1, 2 * 110 / 112, 4 * 110 / 114])
    assert rows["computation_scaling"].to_list() == pytest.approx([1, 1, 1])


def test_the_interval_is_scaled_as_the_speedup_is(new_run):
    trials = weak(new_run, scatter=0.02)
    row = configurations(trials).row(2, named=True)
    walls = {n: trials.filter(pl.col("workers") == n)["wall_s"].to_list() for n in (1, 4)}
    plain = ratio_interval(walls[1], walls[4], paired=True)
    ends = (row["speedup_low"], row["speedup_high"])
    assert ends == pytest.approx((4 * plain.low, 4 * plain.high))
    assert ends[0] < row["speedup"] < ends[1]


def test_the_lost_time_is_what_the_work_alone_does_not_explain(new_run):
    parts = loss_table(weak(new_run)).filter(pl.col("workers") == 4)
    grown = dict(zip(parts["part"], parts["growth_s"], strict=True))
    assert grown["compute"] == pytest.approx(0)
    assert grown["model_load"] == pytest.approx(0)
    # Three workers wait for the merge of 4 s.
    assert (grown["merge"], grown["idle"]) == (pytest.approx(4), pytest.approx(12))
    assert sum(grown.values()) == pytest.approx(4 * 114 - 4 * 110)


@given(serial=st.floats(0, 1), workers=st.integers(2, 512))
def test_the_serial_fraction_of_gustafsons_law_is_found_again(serial, workers):
    speedup = workers - serial * (workers - 1)
    assert scaled_serial_fraction(speedup, workers) == pytest.approx(serial, abs=1e-9)


def test_each_law_of_a_serial_fraction_is_given_for_its_own_kind_of_scaling(new_run):
    rows = configurations(weak(new_run))
    assert rows["karp_flatt"].null_count() == 3
    for row in rows.rows(named=True)[1:]:
        found = scaled_serial_fraction(row["speedup"], row["workers"])
        assert row["gustafson"] == pytest.approx(found)
    assert rows["gustafson"][0] is None
    frames = {"movie_frames": lambda n, _: 40 + n}
    mixed = new_run().curve("segment", lambda *_: 90.0, COUNTS, 1, **frames).configurations
    assert mixed["scaling"].to_list() == ["mixed"] * 3
    assert mixed["karp_flatt"].null_count() == mixed["gustafson"].null_count() == 3


def test_strong_scaling_is_the_same_to_the_last_bit_whether_its_work_is_known_or_not(new_run):
    def spent(n, block):
        wall_s = 100 / n + 7 + 0.1 * ((3 * block + n) % 4)
        return {"compute": wall_s / 3, "read": wall_s}

    known = new_run().curve("segment", spent, COUNTS).trials
    unknown = known.with_columns(work=pl.lit(None, dtype=pl.Float64))
    rows, plain = configurations(known), configurations(unknown)
    assert (rows["scaling"][0], plain["scaling"][0]) == ("strong", None)
    assert rows.drop("work", "scaling").equals(plain.drop("work", "scaling"))
    assert loss_table(known).equals(loss_table(unknown))
    base, row = rows.row(0, named=True), rows.row(2, named=True)
    assert row["speedup"] == base["wall_s"] / row["wall_s"]
