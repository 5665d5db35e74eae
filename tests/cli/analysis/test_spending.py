import polars as pl
import pytest

from pyscale.analysis.spending import COSTS, Prices, configuration_costs, trial_costs, with_costs
from runbuilder import RunBuilder

EURO = Prices(core_hour=0.02, gpu_hour=1.5, currency="EUR")


def two_workers(new_run):
    """One hour beside half an hour, and 6 minutes of merge, on 8 cores each."""
    builder = new_run().trial("segment", [{"compute": 5400.0}], requested_cpus=8)
    builder.trial(
        "segment",
        [{"compute": 3600.0}, {"compute": 1800.0}],
        merge={"merge": 360.0},
        requested_cpus=8,
    )
    return builder.trials


def priced(rows):
    """Trials of (workers, wall time), each worker with 4 cores and one GPU, all held to the end."""
    builder = RunBuilder()
    for block, (workers, wall_s) in enumerate(rows):
        held = {"device": "cuda", "requested_cpus": 4, "requested_gpus": 1}
        builder.trial("segment", [{"compute": float(wall_s)}] * workers, block=block, **held)
    return trial_costs(builder.trials, "machine", EURO)


@pytest.mark.parametrize(
    ("held", "core_hours"),
    [
        # Each task by itself; both to the slowest's end and one merge; both to the very end.
        ("task", 8 * (1 + 0.5 + 0.1)),
        ("gang", 8 * (2 * 1 + 0.1)),
        ("machine", 8 * 2 * 1.1),
    ],
)
def test_what_waits_for_others_is_paid_for_where_it_is_held(new_run, held, core_hours):
    costs = trial_costs(two_workers(new_run), held)
    assert costs["core_hours"].to_list() == pytest.approx([12, core_hours])


@pytest.mark.parametrize(
    ("held", "recorded", "unknown"),
    [
        ("task", {}, ("gpu_hours", "money")),
        ("task", {"requested_cpus": pl.lit(None, pl.Int64)}, ("core_hours",)),
        # Where nobody knows what was held nothing is known.
        (None, {}, ("held_s", "core_hours", "gpu_hours", "money")),
    ],
)
def test_what_nothing_recorded_has_no_cost(new_run, held, recorded, unknown):
    costs = trial_costs(two_workers(new_run).with_columns(**recorded), held, EURO)
    assert [costs[column].null_count() for column in unknown] == [2] * len(unknown)


def test_a_gpu_without_a_price_leaves_the_money_open_but_where_none_was_held(new_run):
    no_gpu_price = Prices(core_hour=0.5, currency="EUR")
    trials = two_workers(new_run).with_columns(requested_gpus=pl.lit(0))
    assert trial_costs(trials, "task", no_gpu_price)["money"].to_list() == pytest.approx([6, 6.4])
    costs = trial_costs(priced([(1, 3600)]).drop(COSTS), "machine", no_gpu_price)
    assert (costs["gpu_hours"].to_list(), costs["money"].to_list()) == ([1], [None])


def test_a_configuration_costs_the_mean_of_its_trials():
    base, second = configuration_costs(priced([(1, 3600), (2, 2000), (2, 4000)])).to_dicts()
    assert base["core_hours"] == pytest.approx(4)
    assert second["core_hours"] == pytest.approx(4 * 2 * 3000 / 3600)
    assert second["gpu_hours"] == pytest.approx(2 * 3000 / 3600)
    assert second["money"] == pytest.approx(0.02 * second["core_hours"] + 1.5 * second["gpu_hours"])
    assert second["core_hours_per_work"] == pytest.approx(second["core_hours"] / 80)


def test_without_work_there_is_no_cost_per_work_and_without_a_device_there_are_costs():
    trials = priced([(1, 3600), (2, 3600)]).with_columns(
        work=pl.lit(None, pl.Float64), device=pl.lit(None, pl.String)
    )
    costs = configuration_costs(trials)
    assert (costs.height, costs["money_per_work"].null_count()) == (2, 2)
    assert costs["money"].null_count() == 0


def test_only_timed_trials_count_and_one_unknown_cost_leaves_the_mean_open():
    trials = priced([(1, 3600), (1, 7200)])
    last = pl.col("block") == 1
    invalid = trials.with_columns(valid=~last)
    assert configuration_costs(invalid)["core_hours"].to_list() == pytest.approx([4])
    unknown = trials.with_columns(money=pl.when(~last).then("money"))
    assert configuration_costs(unknown)["money"].to_list() == [None]


def test_a_configuration_without_a_timed_trial_has_no_cost(new_run):
    failed = {"failed": lambda n, _: ["w0"] if n == 2 else []}
    builder = new_run().curve("segment", lambda *_: 1.0, blocks=1, requested_cpus=1, **failed)
    table = with_costs(builder.configurations, builder.trials, "task")
    assert table["core_hours"].to_list() == [1 / 3600, None]


@pytest.mark.parametrize("currency", [None, "", "US dollars", " "])
def test_a_price_without_a_unit_is_no_price(currency):
    with pytest.raises(ValueError, match="prices need a currency in one word"):
        Prices(core_hour=0.5, currency=currency)
