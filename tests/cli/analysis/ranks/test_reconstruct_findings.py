"""The findings say what each configuration is worth, what fits, and how many ranks to ask for."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from madeupreconstruct import ENTRIES, Entry, reconstruction
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.ranks.reconstruct import reconstruct_findings
from pyscale.store.rows import reconstruction_schema
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

DEBLUR = ENTRIES[0]


def find(table):
    """What is found of this table."""
    found = reconstruct_findings(table)
    assert found is not None
    return found


def of(*entries, **options):
    """What is found of these entries."""
    return find(reconstruction(entries, **{"repeats": 1} | options))


@pytest.fixture(scope="module")
def findings():
    """Of all entries that were made up."""
    return find(reconstruction())


def point(found, **which):
    """The only point with these values."""
    rows = found.points.filter(**which)
    assert rows.height == 1
    return rows.row(0, named=True)


def test_beyond_the_knee_more_ranks_are_faster_and_not_advised():
    (answer,) = of(Entry("knee", denoiser_s=3.2, communication_s=0.07)).knees
    row, following = answer.row, answer.following
    assert (row["workers"], following["workers"]) == (4, 8)
    assert following["speedup"] > row["speedup"]
    worth = [one["speedup"] * one["efficiency"] for one in (following, row)]
    assert worth[0] < worth[1]


@pytest.mark.parametrize("repeats", [1, 6])
def test_twice_the_ranks_are_not_advised_for_three_per_cent(repeats):
    hardly = Entry("hardly", gradient_s=0.8, denoiser_s=0.1545)
    (answer,) = of(hardly, ranks=(1, 2), repeats=repeats).knees
    assert (answer.row["workers"], answer.following["workers"]) == (1, 2)
    assert answer.following["speedup"] == pytest.approx(1.03, abs=0.005)
    assert answer.following["efficiency"] > 0.5


def test_where_no_more_ranks_help_the_answer_says_what_the_next_would_lose():
    (answer,) = of(Entry("slow", communication_s=2.0)).knees
    assert (answer.row["workers"], answer.row["speedup"]) == (1, 1)
    assert answer.following["workers"] == answer.limited["workers"] == 2
    assert answer.limit["component"] == "communication"
    (answer,) = of(DEBLUR, ranks=(2,)).knees
    assert (answer.row["workers"], answer.following, answer.limit) == (2, None, None)
    # An entry of which nothing ran has no answer.
    found = of(Entry("never", fits_from=9), DEBLUR)
    assert [answer.row["stage"] for answer in found.knees] == ["deblur_256"]


def test_more_ranks_that_are_slower_are_not_advised():
    # Efficient enough by its baseline of 8, but slower than with fewer.
    table = reconstruction([DEBLUR], ranks=(8, 9), repeats=1, scatter=0.0)
    slower = pl.when(pl.col("workers") == 9).then(pl.col("wall_s") * 1.3).otherwise("wall_s")
    (answer,) = find(table.with_columns(wall_s=slower)).knees
    assert (answer.row["workers"], answer.following["workers"]) == (8, 9)
    assert answer.following["efficiency"] > 0.5


def test_who_waits_is_what_limits_uneven_ranks():
    found = of(Entry("uneven", communication_s=0.0, gather_s=0.0), ranks=(1, 4), slowest=3.0)
    row = point(found, workers=4)
    assert row["balance"] < 0.8
    assert "uneven" in row["flags"]
    assert row["barrier_share"] > 0.4
    assert found.knees[0].limit["component"] == "barrier"


def test_balance_is_that_of_the_slower_of_two_middle_trials():
    even, uneven = (
        reconstruction([DEBLUR], ranks=(4,), repeats=1, slowest=slowest) for slowest in (1.0, 2.0)
    )
    second = uneven.with_columns(trial=pl.lit("second"), block=pl.lit(2, pl.Int64))
    slower = point(find(uneven))["balance"]
    assert point(find(pl.concat([even, second])))["balance"] == pytest.approx(slower)
    assert slower < 0.8


@pytest.mark.parametrize(
    ("changes", "gate", "code"),
    [
        ({}, "agrees", ""),
        ({"gate_gradient": GRADIENT_TOLERANCE}, "agrees", ""),
        ({"gate_interior": DENOISER_TOLERANCE}, "agrees", ""),
        ({"gate_gradient": 2e-5}, "differs", "disagrees"),
        ({"gate_interior": 2e-6}, "differs", "disagrees"),
        ({"gate_gradient": float("nan")}, "differs", "disagrees"),
        ({"gate_interior": float("nan")}, "differs", "disagrees"),
        ({"gate_border": 0.5}, "agrees", ""),
        ({"gate_interior": None, "gate_interior_px": 0}, "agrees", ""),
        ({"gate_interior": None, "gate_why_not": "memory"}, "not compared", "not-compared"),
        ({"gate_gradient": None}, "not compared", "not-compared"),
    ],
)
@pytest.mark.parametrize("trials", [(1, 2, 3, 4, 5, 6), (2,)])
def test_the_worst_trial_decides_the_gate_by_the_tolerances_of_the_stage(
    changes, gate, code, trials
):
    schema, of_these = reconstruction_schema(), pl.when(pl.col("block").is_in(trials))
    told = {
        name: of_these.then(pl.lit(value, schema[name])).otherwise(name)
        for name, value in changes.items()
    }
    row = point(find(reconstruction([DEBLUR], ranks=(2,)).with_columns(**told)))
    assert (row["gate"], row["flags"]) == (gate, code)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"oversubscribed": pl.lit(True)}, "oversubscribed"),
        ({"disturbed": pl.lit(True)}, "disturbed"),
        ({"hardware": pl.col("hardware") + pl.col("workers").cast(pl.String)}, "mixed-hardware"),
        ({"wall_s": pl.col("wall_s") * 1.02}, "rest"),
        ({"wall_s": pl.col("wall_s") * 0.98}, "rest"),
        ({"wall_s": pl.col("wall_s") * pl.col("block")}, "unstable"),
    ],
)
def test_doubts_are_flagged(changes, code):
    found = find(reconstruction([DEBLUR], ranks=(1, 2)).with_columns(**changes))
    flags = point(found, workers=2)["flags"].split(",")
    assert code in flags
    assert set(flags) <= set(SENTENCES)
    total = found.scaling.filter(component="total", workers=2)
    assert total["flags"].item() == ",".join(flags)


def test_a_component_is_unstable_by_its_own_times():
    wild = pl.col("communication_s") * pl.col("block")
    table = reconstruction([DEBLUR], ranks=(2,)).with_columns(communication_s=wild)
    found = find(table).scaling
    unstable = found.filter(pl.col("flags").str.contains("unstable"))
    assert unstable["component"].to_list() == ["communication"]


def test_order_of_rows_changes_nothing_but_the_order_of_entries(findings):
    shuffled = find(reconstruction().sample(fraction=1.0, shuffle=True, seed=3))
    by = ["stage", "workers", "component"]
    assert_frame_equal(shuffled.scaling.sort(by), findings.scaling.sort(by))
    assert_frame_equal(shuffled.points.sort(by[:2]), findings.points.sort(by[:2]))
    # A run that reconstructed nothing has no findings.
    assert reconstruct_findings(pl.DataFrame(schema=reconstruction_schema())) is None
