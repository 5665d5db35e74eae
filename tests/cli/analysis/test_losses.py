import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscale.analysis.losses import factors, loss_table, middle_trials, sums
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


def test_a_configuration_is_represented_by_the_trials_in_the_middle():
    trials = pl.DataFrame(
        {"wall_s": [5.0, 1.0, 9.0, 3.0], "block": [0, 1, 2, 3], "trial": ["a", "b", "c", "d"]}
    )
    assert middle_trials(trials)["wall_s"].to_list() == [3, 5]
    assert middle_trials(trials.head(3))["wall_s"].to_list() == [5]
    assert middle_trials(trials.head(1))["wall_s"].to_list() == [5]


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
