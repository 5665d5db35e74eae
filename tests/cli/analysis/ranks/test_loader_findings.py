"""The findings advise what is fast and diverse, and say what delivered the same patches."""

import polars as pl
import pytest

from madeuploader import ENTRIES, Entry, entries_like, loading
from pyscale.analysis.ranks.loader import loader_findings
from pyscale.store.rows import loading_schema

POOL8 = Entry("pool8", 640.0, 7.2)


def find(*entries, keep=0.5, **options):
    """What is found of these entries."""
    found = loader_findings(loading(entries or ENTRIES, **options), keep=keep)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("keep", "stage"),
    [(1.0, "pool16"), (0.95, "pool16_workers8"), (0.35, "pool4"), (0.05, "pool1")],
)
def test_the_advice_is_the_fastest_that_keeps_the_diversity(keep, stage):
    found = find(keep=keep, ranks=(1,))
    advice = found.advice
    assert advice.row["stage"] == stage
    assert advice.keeps >= keep
    assert (advice.most_diverse["stage"], advice.fastest["stage"]) == ("pool16", "pool1")
    assert advice.given_up == pytest.approx(1 - advice.row["patches_per_s"] / 900)
    front = {"pool1", "pool2", "pool4", "pool16", "pool16_workers8"}
    assert set(found.points.filter("on_front")["stage"]) == front


def test_points_that_may_be_as_fast_are_named():
    near = entries_like(POOL8, [{"stage": "near", "patches_per_s": 630.0}])
    slow = entries_like(POOL8, [{"stage": "slow", "patches_per_s": 500.0}])
    entries = [POOL8, *near, *slow]
    advice = find(*entries, ranks=(1,), scatter=0.02).advice
    assert (advice.row["stage"], [row["stage"] for row in advice.as_fast]) == ("pool8", ["near"])
    # Where no interval is known, nothing is ruled out.
    unsure = find(*entries, ranks=(1,), repeats=3).advice
    assert [row["stage"] for row in unsure.as_fast] == ["near", "slow"]
    assert unsure.row["patches_per_s_low"] is None


def test_what_says_no_place_or_failed_is_not_advised_and_a_run_without_loading_finds_nothing():
    found = find(Entry("mine", 500.0, None, factory="mine:make"))
    assert found.advice is None
    assert found.points["on_front"].null_count() == 2
    advice = find(POOL8, Entry("broken", 9000.0, 90.0, error="out of memory")).advice
    assert (advice.row["stage"], advice.fastest["stage"]) == ("pool8", "pool8")
    assert loader_findings(pl.DataFrame(schema=loading_schema()), keep=0.5) is None


OWN = {"stage": "other", "factory": "mine:patches"}
READER = {"stage": "other", "reader": "openslide", "checksum": "0ther"}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (OWN | {"checksum": "5eed"}, "same"),
        (OWN | {"checksum": "0ther"}, "different"),
        (OWN | {"checksum": None}, "unknown"),
        (READER, "different"),
        # How many batches are kept ready changes no patch.
        (OWN | {"prefetch_factor": 8, "pin_memory": True}, "same"),
    ],
)
def test_factories_and_readers_with_equal_settings_are_held_against_each_other(change, verdict):
    found = find(POOL8, *entries_like(POOL8, [change]), ranks=(1, 2)).same_patches
    assert found == tuple((workers, ("pool8", "other"), verdict) for workers in (1, 2))


@pytest.mark.parametrize(
    "change",
    [
        *(OWN | other for other in ({"num_workers": 4}, {"pool_size": 2}, {"batch_size": 32})),
        OWN | {"patch_px": 128},
        OWN | {"error": "a library is absent"},
        # One factory made both.
        {"stage": "again", "checksum": "x"},
    ],
)
def test_other_settings_and_what_failed_are_set_beside_nothing(change):
    assert find(POOL8, *entries_like(POOL8, [change])).same_patches == ()


def test_a_rank_is_summed_up_over_the_trials_that_count():
    block = pl.col("block")
    table = loading([POOL8], ranks=(1,), repeats=7, scatter=0.0).with_columns(
        free_wall_s=pl.when(block == 1).then(3 * pl.col("free_wall_s")).otherwise("free_wall_s"),
        pss_bytes=pl.when(block == 1).then(2 * pl.col("pss_bytes")).otherwise("pss_bytes"),
        attempt=pl.when(block == 2).then(pl.lit(2, pl.Int64)).otherwise("attempt"),
    )
    found = loader_findings(table, keep=0.5)
    row = found.ranks.row(0, named=True)
    assert (row["repeats"], row["patches_per_s"]) == (6, pytest.approx(640))
    assert row["pss_bytes"] == table["pss_bytes"].max()
