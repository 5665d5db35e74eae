"""What counts where wall time says nothing, sampled and compared alike for every kind."""

from dataclasses import replace

import polars as pl
import pytest

import madeuploader
import madeupreconstruct
from pyscale.analysis.samples import (
    MEASURES,
    compared_samples,
    is_primary,
    samples,
)

BASE = {
    "loading": madeuploader.loading(madeuploader.ENTRIES[:2]),
    "reconstruction": madeupreconstruct.reconstruction(madeupreconstruct.ENTRIES[:1], ranks=(1, 2)),
}
STAGES = {"loading": "pool1", "reconstruction": "deblur_256"}
every_kind = pytest.mark.parametrize("kind", MEASURES)


def found(kind, change):
    """Compare a kind with itself, of which the new side is changed."""
    return compared_samples(samples({kind: BASE[kind]}), change(samples({kind: BASE[kind]})))


@every_kind
def test_a_ratio_is_that_of_the_amounts_and_its_verdict_that_of_the_speed(kind):
    table = found(kind, lambda own: own.with_columns(amount=1.3 * pl.col("amount")))
    assert set(table["verdict"]) == {"better" if MEASURES[kind].better == "higher" else "worse"}
    assert table["ratio"].to_list() == pytest.approx([1.3] * table.height)
    assert (table["ratio_low"] <= table["ratio"]).all()
    assert (table["new_amount"] / table["base_amount"]).to_list() == pytest.approx(
        [1.3] * table.height
    )


@every_kind
def test_what_one_run_alone_has_stands_in_it_without_a_verdict(kind):
    table = found(kind, lambda own: own.filter(pl.col("workers") > 1))
    alone = table.filter(workers=1)
    assert alone.height
    assert alone["verdict"].null_count() == alone["new_repeats"].null_count() == alone.height
    assert alone["base_repeats"].null_count() == 0
    assert table.filter(workers=2)["verdict"].null_count() == 0


@every_kind
def test_other_work_is_not_judged(kind):
    table = found(kind, lambda own: own.with_columns(work=pl.lit("another")))
    assert table["verdict"].null_count() == table.height
    assert set(table["reason"]) == {"other-work"}


@every_kind
def test_one_value_of_each_kind_decides_and_stands_first(kind):
    table = found(kind, lambda own: own)
    decides = table.filter(is_primary())
    assert set(decides["value"]) == {MEASURES[kind].primary}
    assert table["value"][0] == MEASURES[kind].primary
    assert table["stage"][0] == STAGES[kind]


def test_what_takes_no_time_and_what_failed_is_no_sample():
    failing = replace(madeuploader.ENTRIES[0], error="a slide cannot be read")
    own = samples({**BASE, "loading": madeuploader.loading([failing])})
    assert set(own["kind"]) == {"reconstruction"}
    assert "gather" not in own.filter(workers=1)["value"].to_list()
