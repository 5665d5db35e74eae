"""The findings advise what is fast and diverse, and say what delivered the same patches."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madeuploader import ENTRIES, GIB, Entry, entries_like, loading
from pyscale.analysis.ranks.loader import (
    loader_findings,
    loader_points,
    loader_trials,
    node_use,
    with_front,
)

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


ONE = Entry("one", 500.0, 4.0)


def points(table):
    """All rows of a table of loading."""
    return loader_points(loader_trials(table), keep=0.5)


def only_point(table):
    """The only configuration of a table."""
    found = points(table)
    assert found.height == 1
    return found.row(0, named=True)


def flags(table):
    return [code for code in only_point(table)["flags"].split(",") if code]


@pytest.mark.parametrize(
    ("asked", "stored", "flagged"),
    [("cold", 399, True), ("cold", 400, False), ("warm", 0, False)],
)
def test_batches_that_no_block_device_gave_are_flagged(asked, stored, flagged):
    table = loading([ONE], ranks=(1,), cache_asked=asked).with_columns(
        free_read_bytes=pl.lit(40_000), free_storage_read_bytes=pl.lit(stored)
    )
    assert ("from-memory" in flags(table)) is flagged


@pytest.mark.parametrize(("slowest", "flagged"), [(0.81, False), (0.79, True)])
def test_a_rank_a_fifth_below_the_median_of_ranks_is_a_straggler(slowest, flagged):
    table = loading([ONE], ranks=(3,), slowest=slowest)
    row = only_point(table)
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
    assert only_point(table)["straggling"] == pytest.approx(0)
    assert "straggler" not in flags(table)
    slow = three_times(loading([ONE], ranks=(3,), slowest=0.8), "free_wall_s", rank=0, block=2)
    assert only_point(slow)["slowest_rank"] == 2


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
    row = only_point(table.with_columns(of_one))
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
    row = only_point(table)
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
    row = only_point(loading([entry], ranks=(1,), scatter=0.02, repeats=repeats))
    assert (row["consumed_per_s"], row["feeds"]) == (consumed and pytest.approx(consumed), feeds)


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


# Whole numbers: ties are frequent, which is what goes wrong.
POINTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


def table(points, workers=1):
    """Points of one N, of speed and diversity."""
    return pl.DataFrame(
        {
            "workers": [workers] * len(points),
            "patch_px": [256] * len(points),
            "mpp": pl.Series([None] * len(points), dtype=pl.Float64),
            "patches_per_s": pl.Series([speed for speed, _ in points], dtype=pl.Float64),
            "effective_slides": pl.Series([slides for _, slides in points], dtype=pl.Float64),
        }
    )


def front(points):
    """Points that nothing beats."""
    found = with_front(table(list(points)), keep=0.5).filter("on_front")
    return set(found.select("patches_per_s", "effective_slides").iter_rows())


def beats(one, other):
    """Whether one is as good in both and better in one."""
    return one != other and one[0] >= other[0] and one[1] >= other[1]


@given(POINTS)
def test_nothing_beats_a_point_on_the_front_and_such_a_point_beats_each_other(points):
    found = front(points)
    assert found
    assert not [1 for one in found for other in points if beats(other, one)]
    rest = [point for point in points if point not in found]
    assert all(any(beats(one, point) for one in found) for point in rest)
    # The order of points changes nothing.
    assert front(points[::-1]) == found


def test_points_of_another_n_or_patch_size_are_no_rivals():
    slow = table([(100, 2)])
    rivals = [
        table([(900, 9)], workers=2),
        table([(900, 9)]).with_columns(patch_px=pl.lit(128, pl.Int64)),
        table([(900, 9)]).with_columns(mpp=pl.lit(0.5)),
    ]
    found = with_front(pl.concat([slow, *rivals]), keep=0.5)
    assert found["on_front"].to_list() == [True] * 4
    assert found["keeps_diversity"].to_list() == [True] * 4


@pytest.mark.parametrize(
    ("points", "on_front", "keeps"),
    [
        # Of two that are as diverse the slower is not.
        ([(640, 7.2), (400, 7.2)], [True, False], [True, True]),
        # What is not known is not judged, and beats nothing.
        *(
            ([(100, 2), unknown], [True, None], [True, None])
            for unknown in ((None, 9.0), (900.0, None), (None, None))
        ),
    ],
)
def test_only_known_points_that_nothing_beats_are_on_the_front(points, on_front, keeps):
    found = with_front(table(points), keep=0.5)
    assert found["on_front"].to_list() == on_front
    assert found["keeps_diversity"].to_list() == keeps
