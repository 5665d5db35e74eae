"""Times of several sets of results beside each other."""

import polars as pl
import pytest

from atleastone import some
from pyscale.analysis.comparison import Side, stages_beside, times_side_by_side
from pyscale.analysis.losses import loss_table
from pyscale.analysis.scaling import configurations


def side(run, *alike, parts=True):
    """What a builder holds, as a side."""
    trials = run.trials
    losses = loss_table(trials) if parts else None
    return Side(configurations(trials), frozenset(alike), losses, trials)


def filled(new_run, seconds, counts=(1, 2), repeats=1, **every_trial):
    """A run in which each stage takes so long in sum, whatever its number of workers."""
    run = new_run()
    for stage, whole_s in seconds.items():

        def spent(n, block, whole_s=whole_s):
            return {"import": 0.5, "compute": (whole_s + 0.01 * block) / n}

        run.curve(stage, spent, counts, repeats, **every_trial)
    return run


def speedups(*sides):
    return stages_beside(sides).speedups


def of_stages(table, **where):
    """Rows of whole stages."""
    whole = table.filter(pl.col("part").is_null(), pl.col("stage").is_not_null())
    return whole.filter(**where).to_dicts()


class TestTimes:
    def test_where_no_trial_was_timed_there_is_neither_a_sum_nor_a_percentage(self, new_run):
        own = side(filled(new_run, {"segment": 10.0, "track": 4.0}), parts=False)
        untimed = own.configurations.with_columns(
            wall_s=pl.when(pl.col("workers") == 1).then("wall_s")
        )
        times = times_side_by_side([Side(untimed, frozenset())])
        at_two = times.filter(workers=2)
        assert at_two["stage"].to_list() == ["segment", "track"]
        assert at_two["percent"].to_list() == [None, None]

    @pytest.mark.parametrize("devices", [1, 2])
    def test_a_side_without_a_device_stands_beside_the_only_one_that_was_named(
        self, new_run, devices
    ):
        run = filled(new_run, {"segment": 10.0})
        unnamed = run.configurations.with_columns(device=pl.lit(None, pl.String))
        if devices == 2:
            run.curve("segment", lambda *_: 1.0, blocks=1, device="cuda")
        times = times_side_by_side([side(run), Side(unnamed, frozenset())]).drop_nulls("stage")
        elsewhere = times.filter(pl.col("side") == 1)
        assert elsewhere["device"].to_list() == [None if devices == 2 else "cpu"] * 2
        assert elsewhere["own_device"].to_list() == [None, None]
        named = set(times.filter(pl.col("side") == 0)["device"])
        assert named == {"cpu", "cuda"} if devices == 2 else {"cpu"}

    def test_sides_may_have_other_stages_and_other_numbers_of_workers(self, new_run):
        few = side(filled(new_run, {"segment": 10.0}, counts=(1,)))
        more = side(filled(new_run, {"segment": 10.0, "track": 4.0}, counts=(1, 4)))
        times = times_side_by_side([few, more])
        found = times.filter(pl.col("part").is_null()).select("side", "stage", "workers").rows()
        assert found == [
            *((0, None, 1), (1, None, 1), (0, "segment", 1), (1, "segment", 1), (1, "track", 1)),
            *((1, None, 4), (1, "segment", 4), (1, "track", 4)),
        ]


class TestSpeedups:
    def test_intervals_enclose_and_turn_round_with_the_base(self, new_run):
        slow = side(filled(new_run, {"segment": 20.0}, repeats=6), "movie")
        fast = side(filled(new_run, {"segment": 9.0}, repeats=6), "movie")
        table = speedups(slow, fast)
        for row in some(of_stages(table, base=0)):
            assert row["speedup_low"] <= row["speedup"] <= row["speedup_high"]
            back = of_stages(table, base=1, workers=row["workers"])[0]
            assert back["speedup_low"] == pytest.approx(1 / row["speedup_high"])
            assert back["speedup_high"] == pytest.approx(1 / row["speedup_low"])

    def test_without_enough_trials_there_is_no_interval(self, new_run):
        run = filled(new_run, {"segment": 20.0}, repeats=5)
        table = speedups(side(run, "movie"), side(run, "movie"))
        assert table["speedup_low"].null_count() == table.height
        assert {row["speedup"] for row in of_stages(table)} == {1.0}

    @pytest.mark.parametrize(
        ("names", "reason"),
        [
            ((("a",), ("b",)), "other-input"),
            (((), ("b",)), "unknown-work"),
            (((), ()), "unknown-work"),
            # One name in common is enough.
            ((("movie", "work"), ("work",)), None),
        ],
    )
    def test_sides_that_share_no_work_are_not_compared(self, new_run, names, reason):
        run = filled(new_run, {"segment": 20.0})
        table = speedups(*(side(run, *own) for own in names))
        rows = table.to_dicts() if reason else of_stages(table)
        assert {row["why_not"] for row in rows} == {reason}
        assert all((row["speedup"] is None) == bool(reason) for row in rows)

    def test_other_work_at_one_n_is_not_compared_there(self, new_run):
        strong = filled(new_run, {"segment": 20.0}, movie_frames=80)
        frames = {"movie_frames": lambda n, _: 80 * n}
        weak = new_run().curve("segment", lambda *_: 9.0, blocks=1, **frames)
        table = speedups(side(strong, "movie"), side(weak, "movie"))
        assert of_stages(table, base=0, workers=1)[0]["why_not"] is None
        assert of_stages(table, base=0, workers=2)[0]["why_not"] == "other-work"
        # Nor are its parts, nor the sum that it is part of.
        at_two = table.filter(pl.col("workers") == 2)
        assert at_two["speedup"].null_count() == at_two.height

    def test_sums_over_other_stages_are_not_compared(self, new_run):
        both = side(filled(new_run, {"segment": 20.0, "track": 3.0}), "movie")
        one = side(filled(new_run, {"segment": 20.0}), "movie")
        table = speedups(both, one)
        summed = table.filter(pl.col("stage").is_null(), pl.col("base") == 0)
        assert summed["why_not"].to_list() == ["other-stages"] * 2
        alone = of_stages(table, base=1, stage="track")
        assert {row["why_not"] for row in alone} == {"not-in-base"}

    def test_an_invalid_configuration_is_not_compared(self, new_run):
        good = filled(new_run, {"segment": 20.0}, agreement=1.0, same=True)
        same = {"agreement": lambda n, _: 1.0 if n == 1 else 0.2, "same": lambda n, _: n == 1}
        bad = new_run().curve("segment", lambda n, _: 20.0 / n, blocks=1, **same)
        table = speedups(side(good, "movie"), side(bad, "movie"))
        for base in (0, 1):
            assert of_stages(table, base=base, workers=2)[0]["why_not"] == "invalid"
            assert of_stages(table, base=base, workers=1)[0]["why_not"] is None

    def test_what_took_no_time_has_no_speedup(self, new_run):
        run = filled(new_run, {"segment": 20.0})
        table = speedups(side(run, "movie"), side(run, "movie"))
        read = table.filter(pl.col("part") == "read")
        assert set(read["why_not"]) == {"no-time"}
        assert read["speedup"].null_count() == read.height
