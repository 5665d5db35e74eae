"""What the ranks of a trial found is taken together as training would feel it."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madeuploader import ENTRIES, GIB, Entry, loading
from pyscale.analysis.ranks.loader import loader_trials, node_use

POOL4 = next(entry for entry in ENTRIES if entry.stage == "pool4")


def only(table, **options):
    """The only trial of a table."""
    trials = loader_trials(table, **options)
    assert trials.height == 1
    return trials.row(0, named=True)


def of_ranks(count, **options):
    """One trial of so many ranks."""
    return loading([POOL4], ranks=(count,), repeats=1, **options)


def test_the_effective_rate_is_that_of_steps_and_not_that_of_ranks_apart():
    row = only(of_ranks(4, slowest=0.5, together=0.8))
    assert row["aggregate_per_s"] == pytest.approx(3 * 800 + 400)
    assert row["inferred_per_s"] == pytest.approx(4 * 400)
    assert row["patches_per_s"] == pytest.approx(4 * 400 * 0.8)
    assert (row["slowest_rank"], row["slowest_per_s"]) == (3, pytest.approx(400))
    assert row["straggling"] == pytest.approx(0.5)
    # With one rank all rates are its own.
    row = only(of_ranks(1))
    rates = [row[name] for name in ("patches_per_s", "inferred_per_s", "aggregate_per_s")]
    assert rates == pytest.approx([800] * 3)
    assert row["step_p50_s"] is None


def test_the_step_takes_as_long_as_the_rank_that_took_longest():
    table = of_ranks(2)
    late = pl.when(pl.col("rank") == 0).then(2 * pl.col("together_wall_s"))
    table = table.with_columns(together_wall_s=late.otherwise("together_wall_s"))
    patches = table["together_patches"].sum()
    assert only(table)["patches_per_s"] == pytest.approx(patches / table["together_wall_s"].max())


def test_waits_and_steps_are_those_of_the_rank_where_they_are_longest():
    table = of_ranks(2, slowest=0.5)
    row = only(table)
    assert row["wait_p99_s"] == table.filter(rank=1)["free_wait_p99_s"].item()
    assert row["wait_p99_s"] > table.filter(rank=0)["free_wait_p99_s"].item()
    apart = table.with_columns(
        together_step_p95_s=pl.Series([0.3, 0.2]), together_copy_mean_s=pl.Series([0.02, 0.05])
    )
    row = only(apart)
    assert (row["step_p95_s"], row["copy_s_per_batch"]) == (0.3, 0.05)
    # Of ranks that are as slow the first is named.
    table = of_ranks(3, slowest=1.0)
    assert only(table)["slowest_rank"] == only(table.reverse())["slowest_rank"] == 0


def test_a_node_needs_the_memory_of_all_its_ranks_and_that_of_one_is_unknown_of_all():
    # Ranks 0 and 2 are on the first node, rank 1 is on the second.
    row = only(of_ranks(3, nodes=2))
    assert (row["pss_bytes"], row["rss_bytes"]) == (2 * 3 * GIB // 2, 2 * 3 * GIB)
    unknown = pl.when(pl.col("rank") == 0).then("pss_bytes").alias("pss_bytes")
    row = only(of_ranks(2).with_columns(unknown))
    assert (row["pss_bytes"], row["rss_bytes"]) == (None, 2 * 3 * GIB)


def test_ranks_with_slides_of_their_own_are_as_diverse_as_all_of_these():
    row = only(of_ranks(4))
    assert row["effective_slides"] == pytest.approx(4 * 3.9)
    assert row["diversity_patches"] == 4 * 2000
    # Shares of a sixth three times and a half: 1 / (3/36 + 1/4). A step has the slides of all
    # ranks, and their mean distance.
    row = only(
        of_ranks(2).with_columns(
            effective_slides=pl.Series([3.0, 1.0]),
            slides_per_batch=pl.Series([4.0, 3.0]),
            distance_px=pl.Series([100.0, 300.0]),
        )
    )
    assert row["effective_slides"] == pytest.approx(3.0)
    assert (row["slides_per_batch"], row["distance_px"]) == (7, 200)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=6), min_size=1, max_size=5))
def test_effective_slides_are_the_inverse_of_simpsons_index_over_all_ranks(counts):
    """Of patches that each rank took from each of its slides; all ranks take as many."""
    shares = [[count / sum(own) for count in own] for own in counts]
    each = [1 / sum(share**2 for share in own) for own in shares]
    table = of_ranks(len(counts)).with_columns(effective_slides=pl.Series(each))
    over_all = 1 / sum((share / len(counts)) ** 2 for own in shares for share in own)
    assert only(table)["effective_slides"] == pytest.approx(over_all)


def test_what_is_read_for_a_patch_is_of_all_ranks():
    row = only(of_ranks(2, slowest=0.5))
    assert row["read_bytes_per_patch"] == 40_000
    assert row["storage_bytes_per_s"] == pytest.approx(36_000 * (800 + 400))
    assert row["cpu_s_per_patch"] == pytest.approx(0.002)
    table = of_ranks(2).with_columns(
        free_patches=pl.Series([100, 300]),
        free_storage_read_bytes=pl.Series([1000, 7000]),
        free_cpu_s=pl.Series([1.0, 5.0]),
    )
    row = only(table)
    assert (row["storage_read_bytes_per_patch"], row["cpu_s_per_patch"]) == (20, 0.015)


def test_the_checksum_of_ranks_tells_which_rank_delivered_what():
    table = of_ranks(2)
    one, other = (
        only(table.with_columns(checksum=pl.Series(sums)))["checksum"]
        for sums in (["a", "b"], ["b", "a"])
    )
    assert one != other
    ended = table.with_columns(checksum=pl.Series(["a", "b"])).reverse()
    assert only(ended)["checksum"] == one
    assert only(of_ranks(1))["checksum"] == POOL4.checksum
    missing = table.with_columns(checksum=pl.Series(["a", None]))
    assert only(missing)["checksum"] is None


def test_training_on_all_ranks_takes_what_each_takes():
    table = loading([Entry("fed", 500.0, 4.0, consumed_per_s=300.0)], ranks=(2,), repeats=1)
    row = only(table)
    assert (row["consumed_per_s"], row["consumer"]) == (600, "as the user said")
    assert only(of_ranks(2))["consumed_per_s"] is None


def test_a_trial_in_which_one_rank_failed_or_left_no_record_measured_nothing():
    failed, error = pl.col("rank") == 1, "the slide a.svs is damaged"
    table = of_ranks(2).with_columns(
        status=pl.when(failed).then(pl.lit("failed")).otherwise("status"),
        error=pl.when(failed).then(pl.lit(error)),
    )
    for broken, told in ((table, error), (of_ranks(2).head(1), None)):
        row = only(broken)
        assert (row["complete"], row["valid"], row["error"]) == (False, False, told)
        names = ("patches_per_s", "inferred_per_s", "effective_slides")
        assert [row[name] for name in names] == [None] * 3


@pytest.mark.parametrize("counted", [False, True])
def test_a_trial_that_was_tried_again_counts_only_if_asked_for(counted):
    row = only(of_ranks(1).with_columns(attempt=pl.lit(2)), count_retried=counted)
    assert (row["complete"], row["valid"]) == (True, counted)
    one_rank = of_ranks(2).with_columns(attempt=pl.Series([1, 2]))
    assert only(one_rank, count_retried=counted)["valid"] is counted


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        *((doubt, [False, False], False) for doubt in ("oversubscribed", "disturbed")),
        *((doubt, [False, True], True) for doubt in ("oversubscribed", "disturbed")),
        # A trial was as cold as its least proved rank.
        ("cache_state", ["verified-cold", "warm"], "warm"),
    ],
)
def test_what_disturbs_one_rank_disturbs_the_trial(column, values, told):
    assert only(of_ranks(2).with_columns(pl.Series(column, values)))[column] == told


LOW, MIDDLE, HIGH = [0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("cpus", "nodes", "cores", "busiest"),
    [
        ([LOW, LOW[::-1]], 1, 4, 2),
        ([LOW, HIGH], 1, 8, 1),
        ([LOW, MIDDLE], 1, 6, 8 / 6),
        ([[*range(16)], [*range(16)]], 1, 4, 2),
        ([LOW, LOW], 2, 8, 1),
        # Ranks 0 and 2 share the first node, rank 1 has the second for itself.
        ([LOW, LOW, LOW], 2, 8, 2),
        ([None, None], 1, 4, 2),
    ],
    ids=["the same", "apart", "some", "a limit below", "two nodes", "the fullest", "unknown"],
)
def test_ranks_share_the_cores_that_they_have_in_common(cpus, nodes, cores, busiest):
    entry = Entry("two", 500.0, 4.0, num_workers=3)
    table = loading([entry], ranks=(len(cpus),), repeats=1, nodes=nodes).with_columns(
        cpus=pl.Series(cpus, dtype=pl.List(pl.Int64)), cores=pl.lit(4)
    )
    row = node_use(table).row(0, named=True)
    assert (row["cores"], row["busiest"]) == (cores, pytest.approx(busiest))
