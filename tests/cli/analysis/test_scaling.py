import json
import subprocess
import sys
from math import prod

import numpy as np
import polars as pl
import pytest

from pyscale.analysis.scaling import configurations, karp_flatt
from pyscale.analysis.walltimes import trials_from_wall_times


def sweep(new_run, repeats=6, counts=(1, 2, 4)):
    """Perfect halving of 120 s of compute beside a fixed 10 s of model load; blocks drift."""

    def slower(_n, block):
        return 1 + block / 100

    return new_run().curve(
        "segment",
        lambda *at: {"model_load": 10 * slower(*at), "compute": 120 * slower(*at) / at[0]},
        counts,
        repeats,
        merge=lambda *at: {"merge": 2 * slower(*at)},
        agreement=lambda n, _: 1.0 - n / 100,
        quality=lambda _, block: {"ap_50": 0.9 + block / 100},
    )


def table_of(builder):
    trials = builder.trials
    return configurations(trials)


def wall_times(base_s, own_s, workers=2):
    """Trials of one worker, and of more."""
    walls_s = [*base_s, *own_s]
    counts = [1] * len(base_s) + [workers] * len(own_s)
    repeats = [*range(len(base_s)), *range(len(own_s))]
    return trials_from_wall_times(
        pl.DataFrame({"stage": "a", "workers": counts, "repeat": repeats, "wall_s": walls_s})
    )


def test_one_row_says_all_about_a_configuration(new_run):
    base, _, row = table_of(sweep(new_run)).to_dicts()
    assert (row["suite"], row["stage"], row["device"]) == ("demo", "segment", "cpu")
    assert (row["workers"], row["baseline_workers"], row["repeats"]) == (4, 1, 6)
    # Blocks drift by 0 to 5 %: the median is that of 2.5 %, the ends are those of 0 and 5 %.
    assert row["wall_s"] == pytest.approx(42 * 1.025)
    assert (row["wall_s_low"], row["wall_s_high"]) == pytest.approx((42, 42 * 1.05))
    assert row["speedup"] == pytest.approx(130 / 42)
    assert (row["speedup_low"], row["speedup_high"]) == pytest.approx((130 / 42, 130 / 42))
    assert row["efficiency"] == pytest.approx(130 / 42 / 4)
    assert row["load_balance"] == pytest.approx((4 * 40 + 2) / (4 * 42))
    assert row["computation_scaling"] == pytest.approx(1)
    assert row["useful_share"] == pytest.approx(120 / 162)
    factors = ("load_balance", "computation_scaling", "useful_share")
    assert prod(row[name] / base[name] for name in factors) == pytest.approx(row["efficiency"])
    assert row["worker_seconds"] == pytest.approx(4 * 42 * 1.025)
    assert row["merge_s"] == pytest.approx(2 * 1.025)
    assert (row["queue_s"], row["start_stagger_s"], row["overlap"]) == (0.5, 0, 1)
    assert row["cache_state"] == "verified-cold"
    assert row["agreement"] == pytest.approx(0.96)
    assert json.loads(row["quality"]) == {"ap_50": pytest.approx(0.925)}
    assert row["flags"] == ["drift"]


def test_efficiency_and_the_serial_fraction_have_the_ends_of_the_speedup():
    table = wall_times([10.0, 10.4, 10.2, 10.1, 10.3, 10.0], [6.0, 6.3, 6.1, 6.2, 6.0, 6.4])
    base, row = configurations(table, interleaved=False).to_dicts()
    assert row["speedup_low"] < row["speedup"] < row["speedup_high"]
    for end in ("low", "high"):
        assert row[f"efficiency_{end}"] == row[f"speedup_{end}"] / 2
        assert base[f"efficiency_{end}"] is None
    # The faster, the less is serial.
    assert row["karp_flatt_low"] == karp_flatt(row["speedup_high"], 2)
    assert row["karp_flatt_high"] == karp_flatt(row["speedup_low"], 2)
    assert row["gustafson_low"] is None
    weak = configurations(table.with_columns(work=pl.col("workers").cast(pl.Float64)))
    grown = weak.row(1, named=True)
    assert grown["gustafson_low"] == pytest.approx(2 - grown["speedup_high"])
    assert grown["gustafson_low"] < grown["gustafson"] < grown["gustafson_high"]


NOISE = np.array([1.0, 1.01, 0.99, 1.02, 0.98, 1.0])


@pytest.mark.parametrize(
    ("base_s", "own_s", "workers", "flagged"),
    [
        # An interval above linear, or about it, or below.
        *((100 * NOISE, 50 / by * NOISE, 2, by > 1.1) for by in (1.36, 1.0, 1 / 1.36)),
        # Linear without noise.
        *(([base_s] * 6, [base_s / 3] * 6, 3, False) for base_s in (10.0, 0.1, 1 / 3)),
        # Few trials are superlinear only far beyond scatter.
        ([10.0], [4.0], 2, True),
        ([10.0], [4.8], 2, False),
        ([10.0, 7.0, 10.0], [4.0, 4.0, 4.0], 2, False),
    ],
)
@pytest.mark.parametrize("interleaved", [True, False])
def test_what_is_faster_than_linear_beyond_doubt_is_flagged(
    base_s, own_s, workers, flagged, interleaved
):
    table = wall_times(base_s, own_s, workers)
    codes = configurations(table, interleaved=interleaved)["flags"].to_list()
    assert ["superlinear" in own for own in codes] == [False, flagged]
    assert len(base_s) < 6 or {*codes[0]} <= {"in-a-row", "coarse-times"}


def test_the_baseline_has_a_speedup_of_one_without_an_interval_and_five_trials_none(new_run):
    row = table_of(sweep(new_run)).row(0, named=True)
    assert (row["speedup"], row["efficiency"]) == (1, 1)
    assert (row["speedup_low"], row["speedup_high"], row["karp_flatt"]) == (None, None, None)
    assert row["wall_s_low"] is not None
    table = table_of(sweep(new_run, repeats=5))
    for column in ("wall_s_low", "wall_s_high", "speedup_low", "speedup_high"):
        assert table[column].null_count() == table.height
    assert table["flags"].to_list() == [["few-repeats"]] * 3


def test_a_count_whose_every_trial_failed_is_named_but_is_no_baseline(new_run):
    builder = new_run().trial("track", [{"compute": 9.0}], failed=["w0"])
    builder.trial("track", [{"compute": 5.0}] * 2)
    builder.trial("track", [{"compute": 3.0}] * 4)
    lost, base, last = table_of(builder).to_dicts()
    assert (lost["workers"], lost["repeats"], lost["wall_s"]) == (1, 0, None)
    assert lost["flags"] == ["few-repeats", "failed-trials"]
    assert (base["workers"], base["speedup"]) == (2, 1)
    assert last["speedup"] == pytest.approx(5 / 3)
    # A run in which all failed still has its rows.
    builder = new_run().trial("track", [{"compute": 9.0}], failed=["w0"])
    builder.trial("track", [{"compute": 5.0}] * 2, failed=["merge"])
    table = table_of(builder)
    assert table["workers"].to_list() == [1, 2]
    assert table["speedup"].null_count() == 2


def test_failed_and_retried_trials_change_no_time(new_run):
    clean = table_of(sweep(new_run))
    builder = sweep(new_run)
    builder.trial("segment", [{"compute": 900.0}] * 2, block=6, attempt=2)
    builder.trial("segment", [{"compute": 900.0}] * 2, block=7, failed=["w1"])
    table = table_of(builder)
    columns = ["repeats", "wall_s", "wall_s_low", "wall_s_high", "speedup", "load_balance"]
    assert table.select(columns).equals(clean.select(columns))
    own = ["drift", "retried", "failed-trials"]
    assert table["flags"].to_list() == [["drift"], own, ["drift"]]


def test_a_block_without_one_arm_leaves_the_other_blocks_paired(new_run):
    paired = table_of(sweep(new_run, counts=(1, 2))).row(1, named=True)
    builder = sweep(new_run, counts=(1, 2))
    builder.trial("segment", [{"model_load": 10.6, "compute": 127.2}], block=6)
    row = table_of(builder).row(1, named=True)
    # Drift cancels in the six blocks of both arms; the median of N0 holds the seventh too.
    assert row["speedup_low"] == pytest.approx(paired["speedup_low"])
    assert row["speedup_high"] == pytest.approx(row["speedup"])
    assert row["speedup"] > paired["speedup"]


def test_cpu_and_gpu_are_two_curves_with_two_baselines_and_states_are_not_averaged(new_run):
    builder, states = new_run(), ("warm", "verified-cold")
    for device, seconds in (("cpu", 100.0), ("cuda", 10.0)):
        how = {"device": device, "cache_state": lambda _, block: states[block]}
        builder.curve("segment", lambda n, _, seconds=seconds: seconds / n, blocks=2, **how)
    table = table_of(builder)
    assert table["device"].to_list() == ["cpu", "cpu", "cuda", "cuda"]
    assert table["speedup"].to_list() == [1, 2, 1, 2]
    assert table["cache_state"].to_list() == ["verified-cold+warm"] * 4


HEAVY = ("matplotlib", "polars", "scipy", "numpy", "pydantic")


@pytest.mark.parametrize(
    ("imports", "heavy"),
    [
        (
            "pyscale.app",
            ("matplotlib", "polars", "scipy", "numpy", "pydantic", "psutil", "rich.table"),
        ),
        ("pyscale.executors.launch", ("matplotlib", "polars", "scipy", "numpy", "pydantic")),
        ("pyscale.analysis.walltimes", ("matplotlib", "scipy")),
    ],
)
def test_what_begins_often_imports_no_library_that_it_can_do_without(imports, heavy):
    program = f"import sys, {imports}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("identical", "expected"),
    [([True, True], True), ([True, False], False), ([None, True], True), ([None, None], None)],
)
def test_outputs_are_identical_only_if_every_one_that_was_compared_is(new_run, identical, expected):
    found = {"agreement": 1.0, "identical": lambda _, block: identical[block]}
    builder = new_run().curve("segment", lambda *_: 9.0, (1,), 2, **found)
    assert table_of(builder)["identical"].to_list() == [expected]


def test_karp_flatt_finds_the_serial_part_of_amdahl():
    serial = 0.07
    for workers in (2, 4, 8, 64):
        speedup = 1 / (serial + (1 - serial) / workers)
        assert karp_flatt(speedup, workers) == pytest.approx(serial)
