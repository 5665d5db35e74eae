"""What the ranks of a trial found is taken together as training would feel it."""

import polars as pl
import pytest

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
