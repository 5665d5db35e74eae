"""Strong and weak scaling: the speedup is that in work done per second."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscale.analysis.losses import (
    curve_work,
    factors,
    loss_table,
    scaled_serial_fraction,
    sums,
)
from pyscale.analysis.scaling import configurations

SECONDS = st.floats(0.05, 1000)
WORKER = st.fixed_dictionaries(
    dict.fromkeys(("python_start", "import", "model_load", "read", "compute", "write"), SECONDS)
    | {"unattributed": st.floats(0, 5)}
)


@st.composite
def curves(draw):
    """Trials of one stage: for two or three worker counts, one to four repeats each.

    A worker has one window or several, dealt out anyhow; the movie is the same at every N, or
    grows with N, or has any length.
    """
    counts = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3, unique=True))
    repeats = draw(st.integers(1, 4))
    more = draw(st.integers(0, 4))
    growth = draw(st.sampled_from(("strong", "weak", "mixed")))
    frames = {
        n: {"strong": 80, "weak": 20 * n, "mixed": draw(st.integers(20, 90))}[growth]
        for n in counts
    }
    return [
        (
            block,
            draw(st.lists(WORKER, min_size=count + more, max_size=count + more)),
            {"python_start": draw(SECONDS), "merge": draw(SECONDS)},
            (*range(count), *draw(st.tuples(*[st.integers(0, count - 1)] * more))),
            frames[count],
        )
        for block in range(repeats)
        for count in counts
    ]


def trials_of(new_run, curve):
    builder = new_run()
    for block, workers, merge, lanes, frames in curve:
        how = {"block": block, "lanes": lanes, "movie_frames": frames}
        builder.trial("segment", workers, merge=merge, **how)
    return builder.trials


@pytest.mark.slow
@given(curve=curves())
@settings(max_examples=30)
def test_parts_of_the_loss_sum_up_and_factors_multiply_to_the_efficiency(new_run, curve):
    trials = trials_of(new_run, curve)
    rows = configurations(trials).to_dicts()
    base, table = rows[0], loss_table(trials)
    assert base["workers"] == base["baseline_workers"] == min(row["workers"] for row in rows)
    assert table["worker_seconds"].min() >= -1e-6
    parts = table.group_by("workers").agg(pl.col("worker_seconds", "growth_s").sum())
    for row in rows:
        found = parts.row(by_predicate=pl.col("workers") == row["workers"], named=True)
        assert found["worker_seconds"] == pytest.approx(row["worker_seconds"])
        grown = row["worker_seconds"] - row["work"] / base["work"] * base["worker_seconds"]
        assert found["growth_s"] == pytest.approx(grown, abs=1e-6 * row["worker_seconds"])
        product = (
            row["load_balance"]
            / base["load_balance"]
            * row["computation_scaling"]
            * row["useful_share"]
            / base["useful_share"]
        )
        assert product == pytest.approx(row["efficiency"])
        assert 0 < row["load_balance"] <= 1 + 1e-12
        assert 0 < row["useful_share"] <= 1 + 1e-12


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


@pytest.mark.parametrize(
    ("unknown", "told", "parts"),
    [
        # Without phases whole tasks stand in for useful work; without their times nothing does.
        (("useful_s",), [1, 1, None], ["idle", "busy"]),
        (("useful_s", "busy_s"), [None, None, None], []),
    ],
)
def test_what_is_not_known_is_not_split(new_run, unknown, told, parts):
    trials = (
        new_run()
        .trial("track", [{"compute": 4.0}])
        .trials.with_columns(**dict.fromkeys(unknown, pl.lit(None, pl.Float64)))
    )
    own = sums(trials)
    assert list(factors(own, own).values()) == told
    assert loss_table(trials)["part"].to_list() == parts


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


def test_growth_is_the_work_over_the_baselines_and_where_some_is_unknown_nothing_is_scaled():
    found = curve_work(pl.DataFrame({"workers": [2, 4, 4, 4], "work": [10.0, 19, 20, 35]}))
    assert (found.kind, found.growth(2), found.growth(4)) == ("weak", 1, 2)
    found = curve_work(pl.DataFrame({"workers": [1, 2, 2], "work": [10.0, 20.0, None]}))
    assert (found.kind, found.by_workers, found.growth(2)) == (None, {1: 10, 2: None}, 1)


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
