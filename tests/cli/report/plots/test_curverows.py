import polars as pl
import pytest

from pyscale.references.model import Reference, Referred
from pyscale.report.curves import curves
from pyscale.report.plots.besidecurves import (
    ideal_rows,
    law_rows,
    reference_ideals,
    reference_rows,
    trial_rows,
)
from pyscale.report.plots.cacheplot import cache
from pyscale.report.plots.curverows import configuration_rows
from pyscale.report.plots.stacks import loss_rows


@pytest.fixture
def found(uneven):
    return curves(uneven.configurations)


def row(rows, curve, workers):
    (one,) = (one for one in rows if (one["curve"], one["workers"]) == (curve, workers))
    return one


def test_speedup_and_efficiency_are_those_of_the_table(uneven, found):
    rows = configuration_rows(found)
    for own in uneven.configurations.iter_rows(named=True):
        drawn = row(rows, own["stage"], own["workers"])
        assert drawn["speedup"] == own["speedup"]
        assert drawn["efficiency"] == pytest.approx(own["efficiency"])
        assert drawn["invalid"] == own["invalid"]


def test_intervals_are_there_for_both_or_for_none(found):
    for drawn in configuration_rows(found):
        assert (drawn["speedup_low"] is None) == (drawn["efficiency_low"] is None)


def test_the_range_of_few_trials_holds_each_of_their_speedups(thin):
    trials = thin.trials.filter(stage="segment", workers=2)["wall_s"]
    own = row(configuration_rows(curves(thin.configurations)), "segment", 2)
    base = thin.trials.filter(stage="segment", workers=1)["wall_s"]
    assert own["speedup_low"] is None
    assert own["speedup_min"] == pytest.approx(base.min() / trials.max())
    assert own["speedup_max"] == pytest.approx(base.max() / trials.min())
    assert (own["wall_s_min"], own["wall_s_max"]) == (trials.min(), trials.max())


def test_the_speedup_of_the_base_case_is_1_by_definition_and_has_no_range(thin):
    base = row(configuration_rows(curves(thin.configurations)), "segment", 1)
    assert base["wall_s_min"] < base["wall_s_max"]
    assert "speedup_min" not in base


def test_six_trials_have_an_interval_and_no_range(full):
    own = row(configuration_rows(curves(full.configurations)), "segment", 2)
    assert own["speedup_low"] is not None
    assert "wall_s_min" not in own


def test_a_law_goes_through_the_baseline_in_a_band_that_holds_it(full):
    found = law_rows(curves(full.configurations), full.fits)
    assert {one["curve"] for one in found}
    for one in found:
        assert one["speedup_low"] <= one["speedup"] <= one["speedup_high"]
        assert one["wall_s_low"] <= one["wall_s"] <= one["wall_s_high"]
        if one["workers"] == 1:
            assert one["speedup_low"] == one["speedup_high"] == pytest.approx(1)


def test_throughput_is_work_per_second_and_its_interval_encloses_it(found):
    drawn = row(configuration_rows(found), "segment", 2)
    assert drawn["rate"] == pytest.approx(80 / drawn["wall_s"])
    assert drawn["rate_low"] == pytest.approx(80 / drawn["wall_s_high"])
    assert drawn["rate_low"] < drawn["rate"] < drawn["rate_high"]
    assert drawn["each"] == pytest.approx(drawn["rate"] / 2)


def test_the_ideal_time_is_a_hyperbola_from_the_base_case(found):
    ideal = [one for one in ideal_rows(found) if one["curve"] == "segment"]
    assert (ideal[0]["workers"], ideal[-1]["workers"]) == (1, pytest.approx(2))
    assert all(one["wall_s"] * one["workers"] == pytest.approx(11) for one in ideal)
    assert all(one["speedup"] == pytest.approx(one["workers"]) for one in ideal)


def test_an_ideal_needs_more_than_the_base_case(new_run, results_of):
    alone = results_of(new_run().trial("track", [{"compute": 1.0}]))
    assert ideal_rows(curves(alone.configurations)) == []


def test_the_parts_of_a_bar_are_all_of_its_worker_seconds(uneven, found):
    rows = loss_rows(uneven)
    wall_s = row(configuration_rows(found), "segment", 2)["wall_s"]
    own = [one for one in rows if (one["curve"], one["workers"]) == ("segment", 2)]
    assert sum(one["worker_s"] for one in own) == pytest.approx(2 * wall_s)
    assert sum(one["share"] for one in own) == pytest.approx(1)
    assert [one["needed_s"] for one in own] == pytest.approx([11] * len(own))


def test_every_trial_that_read_is_drawn_with_its_place_in_the_run(uneven):
    rows = cache(uneven).rows
    places = {row["trial"]: row["position"] + 1 for row in uneven.trials.to_dicts()}
    assert [int(one["place"]) for one in rows] == [
        places[row["trial"]] for row in uneven.trials.filter(stage="segment").to_dicts()
    ]
    assert {one["state"] for one in rows} == {"cold, proved"}


def test_a_trial_that_failed_is_no_point(new_run, results_of):
    run = new_run().trial("track", [{"compute": 4.0}]).trial("track", [{"compute": 4.0}], block=1)
    run.trial("track", [{"compute": 4.0}], block=2, failed=("w0",))
    found = results_of(run)
    rows = trial_rows(curves(found.configurations), found.trials)
    assert sorted(one["repeat"] for one in rows) == [0, 1]


def test_efficiency_counts_from_the_workers_of_the_base_case(new_run, results_of):
    run = new_run().trial("track", [{"compute": 4.0}] * 2).trial("track", [{"compute": 2.5}] * 4)
    found = results_of(run).configurations
    drawn = row(configuration_rows(curves(found)), "track", 4)
    assert drawn["efficiency"] == pytest.approx(0.8)


def test_with_twice_the_work_the_ideal_is_twice_the_base_cases_worker_seconds(new_run, results_of):
    run = new_run()
    for count in (1, 2):
        run.trial("track", [{"compute": 4.0 * count}] * count, movie_frames=80 * count)
    results = results_of(run)
    found = curves(results.configurations)
    ideal = {one["workers"]: one["wall_s"] for one in ideal_rows(found)}
    assert ideal == {1: pytest.approx(4), 2: pytest.approx(4)}
    needed = {one["workers"]: one["needed_s"] for one in loss_rows(results)}
    assert needed == {1: pytest.approx(4), 2: pytest.approx(8)}


def test_a_reference_is_drawn_as_far_as_was_measured_here(uneven, found):
    reference = Reference(
        name="other",
        title="a cluster",
        source="A paper",
        figures="medians",
        hardware={"processor": "Xeon"},
        caveats=("One run.",),
        sweep="workers",
        stages={"segment": "segment"},
    )
    own = uneven.configurations.filter(stage="segment")
    larger = own.with_columns(workers=4 * pl.col("workers"))
    referred = Referred(reference, pl.concat([own, larger]).sort("workers"))
    rows = reference_rows(found, [referred])
    assert [one["workers"] for one in rows] == [1, 2]
    assert reference_ideals(found, rows) == []


def test_what_began_at_another_n_has_an_ideal_of_its_own(found):
    row = {"curve": "segment", "title": "a cluster", "workers": 4, "from": 2}
    (ideal,) = reference_ideals(found, [row])
    assert (ideal["workers"], ideal["speedup"], ideal["title"]) == (4, 2, "a cluster")
