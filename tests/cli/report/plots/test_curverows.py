import polars as pl
import pytest

from madeupreference import reference
from pyscale.analysis.referencemodel import Referred
from pyscale.report.curves import curves
from pyscale.report.plots.curverows import (
    configuration_rows,
    ideal_rows,
    reference_ideals,
    reference_rows,
    trial_rows,
)


@pytest.fixture
def found(uneven):
    return curves(uneven.configurations)


def row(rows, curve, workers):
    (one,) = (one for one in rows if (one["curve"], one["workers"]) == (curve, workers))
    return one


def test_an_ideal_needs_more_than_the_base_case(new_run):
    alone = new_run().trial("track", [{"compute": 1.0}]).results()
    assert ideal_rows(curves(alone.configurations)) == []


def test_a_trial_that_failed_is_no_point(new_run):
    run = new_run().trial("track", [{"compute": 4.0}]).trial("track", [{"compute": 4.0}], block=1)
    run.trial("track", [{"compute": 4.0}], block=2, failed=("w0",))
    found = run.results_with_timeline()
    rows = trial_rows(curves(found.configurations), found.trials)
    assert sorted(one["repeat"] for one in rows) == [0, 1]


def test_efficiency_counts_from_the_workers_of_the_base_case(new_run):
    run = new_run().trial("track", [{"compute": 4.0}] * 2).trial("track", [{"compute": 2.5}] * 4)
    found = run.results_with_timeline().configurations
    drawn = row(configuration_rows(curves(found)), "track", 4)
    assert drawn["efficiency"] == pytest.approx(0.8)


def test_a_reference_is_drawn_as_far_as_was_measured_here(uneven, found):
    own = uneven.configurations.filter(stage="segment")
    larger = own.with_columns(workers=4 * pl.col("workers"))
    other = reference(stages={"segment": "segment"})
    referred = Referred(other, pl.concat([own, larger]).sort("workers"))
    rows = reference_rows(found, [referred])
    assert [one["workers"] for one in rows] == [1, 2]
    assert reference_ideals(found, rows) == []


def test_what_began_at_another_n_has_an_ideal_of_its_own(found):
    row = {"curve": "segment", "title": "a cluster", "workers": 4, "from": 2}
    (ideal,) = reference_ideals(found, [row])
    assert (ideal["workers"], ideal["speedup"], ideal["title"]) == (4, 2, "a cluster")
