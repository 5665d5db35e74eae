"""A row of a configuration says how fast and how diverse it is, and how sure that is."""

import polars as pl
import pytest

from madeuploader import GIB, Entry, loading
from pyscale.analysis.ranks.loader import loader_points, loader_trials

ONE = Entry("one", 500.0, 4.0)


def points(table):
    """All rows of a table of loading."""
    return loader_points(loader_trials(table), keep=0.5)


def only(table):
    """The only configuration of a table."""
    found = points(table)
    assert found.height == 1
    return found.row(0, named=True)


def flags(table):
    return [code for code in only(table)["flags"].split(",") if code]


@pytest.mark.parametrize(
    ("asked", "stored", "flagged"),
    [("cold", 399, True), ("cold", 400, False), ("warm", 0, False)],
)
def test_batches_that_no_block_device_gave_are_flagged(asked, stored, flagged):
    table = loading([ONE], ranks=(1,), cache_asked=asked).with_columns(
        free_read_bytes=pl.lit(40_000), free_storage_read_bytes=pl.lit(stored)
    )
    assert ("from-memory" in flags(table)) is flagged


def test_five_trials_give_no_interval_and_the_row_says_so():
    table = loading([ONE], ranks=(2,), repeats=5)
    row = only(table)
    assert row["patches_per_s"] == pytest.approx(2 * 500 * 0.95 * 0.9)
    assert [row[name] for name in row if name.endswith(("_low", "_high"))] == [None] * 8
    assert flags(table) == ["few-repeats"]


@pytest.mark.parametrize(("slowest", "flagged"), [(0.81, False), (0.79, True)])
def test_a_rank_a_fifth_below_the_median_of_ranks_is_a_straggler(slowest, flagged):
    table = loading([ONE], ranks=(3,), slowest=slowest)
    row = only(table)
    assert row["straggling"] == pytest.approx(1 - slowest)
    assert row["slowest_rank"] == 2
    assert ("straggler" in flags(table)) is flagged


def three_times(table, column, *, block, rank=None):
    """Let a rank, or all of them, be slow in one trial."""
    which = (pl.col("block") == block) & (pl.lit(rank is None) | (pl.col("rank") == (rank or 0)))
    return table.with_columns(
        pl.when(which).then(3 * pl.col(column)).otherwise(column).alias(column)
    )


def test_a_rank_that_straggled_once_is_no_straggler():
    table = three_times(loading([ONE], ranks=(3,), slowest=1.0), "free_wall_s", rank=1, block=2)
    table = three_times(table, "together_wall_s", block=2)
    assert only(table)["straggling"] == pytest.approx(0)
    assert "straggler" not in flags(table)
    slow = three_times(loading([ONE], ranks=(3,), slowest=0.8), "free_wall_s", rank=0, block=2)
    assert only(slow)["slowest_rank"] == 2


def test_of_two_middle_trials_the_slower_says_how_far_a_rank_is_behind():
    table = loading([ONE], ranks=(3,), slowest=1.0)
    _, _, slower, faster, *_ = loader_trials(table).sort("patches_per_s")["block"]
    straggling = [
        only(three_times(table, "free_wall_s", rank=1, block=block))["straggling"]
        for block in (slower, faster)
    ]
    assert straggling == pytest.approx([2 / 3, 0])


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("cores", pl.lit(8, pl.Int64), {"cores": 8}),
        ("pss_bytes", pl.lit(5 * GIB), {"pss_bytes": 5 * GIB}),
        ("checksum", pl.lit("other"), {"checksum": "differs", "flags": "disagrees"}),
        ("status", pl.lit("failed"), {"repeats": 6, "failed": 1, "flags": "failed-trials"}),
    ],
)
def test_one_trial_of_seven_tells_the_fewest_cores_the_most_memory_and_doubts(column, value, told):
    table = loading([ONE], ranks=(1,), repeats=7)
    of_one = pl.when(pl.col("block") == 3).then(value).otherwise(column).alias(column)
    row = only(table.with_columns(of_one))
    assert {name: row[name] for name in told} == told
    assert row["patches_per_s"] == pytest.approx(500, rel=0.01)


@pytest.mark.parametrize(
    ("told", "found"),
    [
        *(
            ({"cache_asked": asked, "cache_state": state}, found)
            for asked, state, found in (
                ("cold", "verified-cold", []),
                ("warm", "warm", []),
                ("cold", "warm", ["warm-not-cold"]),
                ("cold", "unsupported", ["cache-uncontrolled"]),
                ("cold", "evicted-unverified", ["evicted-unverified"]),
                ("asis", "asis", ["cache-uncontrolled"]),
                ("warm", "unsupported", ["cache-uncontrolled"]),
            )
        ),
        ({"scatter": 0.3}, ["unstable"]),
        # Two ranks with two loader processes each are six processes on the node.
        ({"ranks": (2,), "cores": 6}, []),
        ({"ranks": (2,), "cores": 5}, ["oversubscribed"]),
    ],
)
def test_what_the_page_cache_held_scatter_and_too_few_cores_are_told(told, found):
    table = loading([ONE], **{"ranks": (1,)} | told)
    row = only(table)
    assert (row["cache_state"], flags(table)) == (told.get("cache_state", "verified-cold"), found)
    assert row["oversubscribed"] is ("oversubscribed" in found)
    if "cores" in told:
        assert (row["loader_processes"], row["cores"]) == (4, told["cores"])


@pytest.mark.parametrize(
    ("consumed", "repeats", "feeds"),
    [
        *((None, 6, None), (480.0, 6, "yes"), (520.0, 6, "no")),
        *((495.0, 6, "not sure"), (500.0, 6, "not sure"), (505.0, 6, "not sure")),
        # Without an interval nobody knows.
        (10.0, 3, "not sure"),
    ],
)
def test_training_is_fed_where_the_interval_leaves_no_doubt(consumed, repeats, feeds):
    entry = Entry("one", 500.0, 4.0, consumed_per_s=consumed)
    row = only(loading([entry], ranks=(1,), scatter=0.02, repeats=repeats))
    assert (row["consumed_per_s"], row["feeds"]) == (consumed and pytest.approx(consumed), feeds)
