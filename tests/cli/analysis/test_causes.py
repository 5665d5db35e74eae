"""What limits scaling is named rightly on tables whose cause is known."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atleastone import some
from pyscale.analysis.causes import limits
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from runbuilder import RunBuilder

WHOLE = {"read": 4.0, "compute": 100.0, "write": 2.0, "import": 0.5, "python_start": 0.1}
METERED = ("import", "read", "compute", "write")
CAUSES = (
    "imbalance",
    "start-up",
    "reading",
    "writing",
    "merging",
    "contention",
    "work-inflation",
    "unattributed",
)


def spent_by(count, cause):
    """Phases of each worker, their waits for a core, and the merge.

    One movie is shared evenly, and one thing does not scale as it should.
    """
    workers = [{phase: s / count for phase, s in WHOLE.items()} for _ in range(count)]
    waits_s, merge = [0.0] * count, {}
    for lane, own in enumerate(workers):
        match cause:
            case "imbalance":
                # The first window holds twice as many cells as the others.
                own["compute"] = 100 * (1 if lane else 2) / (count + 1)
            case "start-up":
                own["container_start"] = 10.0
            case "reading":
                # One disk serves all: each of N workers reads an Nth, at an Nth of the bandwidth.
                own["read"] = 20.0
            case "writing":
                own["write"] = 20.0
            case "unattributed":
                own["unattributed"] = 10.0
            case "merging" if count > 1:
                merge = {"merge": 12.0}
            case "contention" if lane:
                # Another program takes turns with the last worker on its core.
                waits_s[lane] = sum(own[phase] for phase in METERED) * (lane == count - 1)
                own |= {phase: own[phase] * (1 + (lane == count - 1)) for phase in METERED}
            case "work-inflation" if count > 1:
                # A frame more at either end of every window.
                own["compute"] *= 1.3
    return workers, waits_s, merge


def tables(cause, count=4, *, threads=1, scaling="strong"):
    """Trials and workers of a curve at N = 1 and `count`, six times."""
    builder = RunBuilder()
    for block, n in product(range(6), (1, count)):
        workers, waits_s, merge = spent_by(n, cause)
        growth = n if scaling == "weak" else 1
        workers = [{phase: growth * s for phase, s in own.items()} for own in workers]
        how = {"block": block, "merge": merge, "movie_frames": 80 * growth}
        builder.trial("segment", workers, **how)
        rows = [row for row in builder._tasks if row["verb"] == "run"][-n:]
        for row, own, wait_s in zip(rows, workers, waits_s, strict=True):
            # Threads that are ready at once wait at once.
            row["cpu_wait_s"] = threads * growth * wait_s
            row["cpu_s"] = threads * (sum(own[phase] for phase in METERED) - growth * wait_s)
    return builder.trials, builder.workers


def main_code(found):
    return found.main and found.main.code


def test_a_wait_is_taken_from_every_phase_that_it_made_longer_and_once_of_many_threads():
    """Import takes long for want of a core, so start-up is not what limits it."""
    (found,) = limits(*tables("contention", 2))
    (gains_of,) = gains([found])
    assert gains_of["contention"] == pytest.approx(1 - found.efficiency)
    assert all(abs(gain) < 0.03 for code, gain in gains_of.items() if code != "contention")
    # Threads that wait at once hold a worker up once.
    alone, many = (limits(*tables("contention", threads=threads))[0] for threads in (1, 4))
    assert many.main.seconds == pytest.approx(alone.main.seconds, rel=1e-9)
    assert many.main.efficiency == pytest.approx(alone.main.efficiency, rel=1e-9)


def computing(*seconds, **phases):
    """Workers that compute for so long each, beside other phases."""
    return [{"compute": compute_s} | phases for compute_s in seconds]


@pytest.mark.parametrize(
    ("alone", "together", "how", "main", "told"),
    [
        # A main cause costs 5 % of the efficiency or more.
        (computing(100.0), computing(52.0, 48.0), {}, None, {}),
        (computing(100.0), computing(53.0, 47.0), {}, "imbalance", {}),
        # Twice the movie may be read for twice as long: of 4 s in sum, 2 are those of the work.
        (
            computing(9.0, read=1.0),
            computing(9.0, 9.0, read=2.0),
            {"movie_frames": 160},
            *("reading", {"seconds": 1, "efficiency": 1}),
        ),
        # Four threads of every worker that wait for 12 s in sum hold it up for 3.
        (
            computing(10.0),
            computing(8.0, 8.0),
            {"cpu_s": 20.0, "cpu_wait_s": 12.0},
            *("contention", {"seconds": 3, "efficiency": 1}),
        ),
        # An uneven start is no imbalance. Of 28 worker-seconds the baseline needs 2, so that 1/14
        # of each worker's part stays.
        (
            [{"import": 2.0, "compute": 100.0}],
            [{"import": 2.0 + 20.0 * (lane == 3), "compute": 25.0} for lane in range(4)],
            {},
            *("start-up", {"seconds": 22 * (1 - 2 / 28)}),
        ),
        # Nor is a delay before every task, which the merge has too: three tasks need what one does.
        (
            computing(10.0, python_start=5.0),
            computing(5.0, 5.0, python_start=5.0),
            {"merge": {"python_start": 5.0, "merge": 0.1}},
            *("start-up", {"efficiency": 15 / (2 * (5 / 3 + 5 + 5 / 3 + 0.1))}),
        ),
        # Causes that hide each other leave no main cause.
        (
            computing(100.0),
            [*computing(20.0, read=30.0), *computing(20.0, write=30.0), *computing(30.0, 30.0)],
            {},
            *(None, {"efficiency": 0.5}),
        ),
    ],
)
def test_the_main_cause_is_what_costs_most_beyond_the_same_work(
    new_run, alone, together, how, main, told
):
    meter = {"cpu_s": 40.0, "cpu_wait_s": 0.0} if "cpu_s" in how else {}
    builder = new_run().trial("segment", alone, **meter).trial("segment", together, **how)
    (found,) = of_run(builder)
    assert (found.main and found.main.code) == main
    assert (found.sureness is None) == (main is None)
    for name, value in told.items():
        assert getattr(found.main or found, name) == pytest.approx(value)


@pytest.mark.parametrize("cause", [None, *CAUSES])
def test_without_noise_each_cause_accounts_for_the_whole_loss(cause):
    (found,) = limits(*tables(cause))
    if cause is None:
        assert found.main is None
        assert found.efficiency == pytest.approx(1)
        assert found.causes[0].gain == pytest.approx(0)
    else:
        assert found.main.code == cause
        assert found.main.efficiency == pytest.approx(1)
        assert found.main.share_first == 1


def test_a_movie_that_grows_with_n_is_no_cause_and_hides_none():
    (found,) = limits(*tables(None, scaling="weak"))
    assert (found.efficiency, found.inflation) == pytest.approx((1, 1))
    assert found.main is None
    for cause in ("imbalance", "contention", "work-inflation"):
        (found,) = limits(*tables(cause, scaling="weak"))
        assert main_code(found) == cause


def test_the_efficiency_is_that_of_the_table_of_configurations(new_run):
    builder = new_run().curve(
        "segment",
        lambda n, block: {"import": 1.0, "compute": (50.0 + block) / n},
        (1, 2, 4),
        merge={"merge": 2.0},
    )
    trials = builder.trials
    rows = configurations(trials).filter(pl.col("workers") > 1)
    found = limits(trials, builder.workers)
    assert [limit.efficiency for limit in found] == pytest.approx(rows["efficiency"].to_list())
    assert [limit.workers for limit in found] == rows["workers"].to_list()


def test_a_wait_that_was_not_measured_is_said_and_not_guessed():
    trials, workers = tables("contention")
    unknown = (
        pl.when(pl.col("trial") != workers["trial"][-1]).then("cpu_wait_s").alias("cpu_wait_s")
    )
    (found,) = limits(trials, workers.with_columns(unknown))
    assert found.not_measured == ("contention",)
    assert "contention" not in [cause.code for cause in found.causes]


def test_where_no_worker_computed_there_is_no_growth_of_the_work(new_run):
    builder = new_run().trial("segment", computing(100.0, read=2.0))
    (found,) = of_run(builder.trial("segment", [{"read": 60.0}] * 2))
    assert found.inflation is None
    assert "work-inflation" in found.not_measured


def test_sureness_needs_six_trials_on_either_side():
    trials, workers = tables("start-up")
    (found,) = limits(trials.slice(1), workers)
    assert (found.trials, found.sureness) == (5, "unknown")
    assert found.main.share_first is None
    (found,) = limits(trials, workers)
    assert (found.trials, found.sureness) == (6, "sure")


def test_how_much_the_work_has_grown_is_as_unsure_as_the_base_case(new_run):
    """A third of the baseline's trials computed for 80 s, the others for 120; now 132 are computed.

    Where a resample of the baseline has a median of 120 s, the merge costs more than that growth.
    """
    builder = new_run().curve(
        "segment",
        lambda n, block: 80.0 + 40 * (block % 3 > 0) if n == 1 else 66.0,
        merge={"merge": 10.0},
    )
    (found,) = of_run(builder)
    shares = {cause.code: cause.share_first for cause in found.causes}
    # Four of six or more are the longer ones in 68 % of resamples.
    assert shares["work-inflation"] == pytest.approx(0.32, abs=0.05)
    assert shares["merging"] == pytest.approx(0.68, abs=0.05)


def test_two_causes_of_the_same_size_are_undecided(new_run):
    """Start-up costs a second more in every other block, and reading in those between."""
    builder = new_run().curve(
        "segment",
        lambda n, block: {
            "import": 10.0 + block % 2,
            "read": 11.0 - block % 2,
            "compute": 100.0 / n,
        },
    )
    (found,) = of_run(builder)
    assert found.sureness == "undecided"
    assert {cause.code for cause in found.causes[:2]} == {"start-up", "reading"}


def test_only_timed_trials_count():
    trials, workers = tables("start-up")
    worst = trials.with_columns(
        valid=pl.col("block") < 5, wall_s=pl.col("wall_s") * (1 + 9 * (pl.col("block") == 5))
    )
    without_it = trials.filter(pl.col("block") < 5)
    assert limits(worst, workers) == limits(without_it, workers)
    assert limits(trials.with_columns(valid=pl.lit(value=False)), workers) == []


def test_published_tasks_are_limited_by_their_growth_and_by_imbalance(references):
    serial = pl.read_csv(references / "pycyto_horizontal_scaling.csv").filter(
        pl.col("stage") == "trackmate_ch0", pl.col("workers") == 1
    )
    tasks = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    at_8 = limits(trials_from_wall_times(pl.concat([serial, tasks], how="diagonal_relaxed")))[-1]
    assert at_8.main.code == "busy"
    # What one factor costs is what the other leaves: 0.786 x 0.282 = 0.222.
    efficiencies = {cause.code: round(cause.efficiency, 3) for cause in at_8.causes}
    assert efficiencies == {"busy": 0.786, "imbalance": 0.282}
    assert at_8.sureness == "unknown"
    assert {"start-up", "contention"} <= set(at_8.not_measured)


def test_wall_times_alone_have_no_causes_and_a_stage_that_failed_takes_nothing_from_others():
    table = pl.DataFrame(
        {"stage": ["a", "a", "b", "b"], "workers": [1, 2] * 2, "wall_s": [10.0, 8.0, 4.0, 4.0]}
    )
    trials = trials_from_wall_times(table)
    found, other = limits(trials)
    assert (found.causes, found.main, found.sureness) == ((), None, None)
    assert set(CAUSES) == set(found.not_measured)
    assert found.efficiency == pytest.approx(10 / 16)
    assert limits(trials.with_columns(valid=pl.col("stage") != "a")) == [other]


def test_processor_time_tells_work_from_waiting_within_computing():
    (more,) = limits(*tables("work-inflation"))
    assert (more.inflation, more.cpu_growth) == pytest.approx((1.3, 1.28), abs=0.01)
    trials, workers = tables("work-inflation")
    blocked = workers.with_columns(cpu_s=100 / pl.col("workers"))
    (same,) = limits(trials, blocked)
    assert (same.inflation, same.cpu_growth) == pytest.approx((1.3, 1))


@pytest.mark.parametrize(("used", "told"), [(0.07, 0.07), (0.15, None), (None, None)])
def test_a_gpu_that_is_idle_most_of_the_time_is_told(used, told):
    trials, workers = tables(None)
    (found,) = limits(trials.with_columns(gpu_mean_utilisation=pl.lit(used, pl.Float64)), workers)
    assert found.gpu_use == told


SECONDS = st.floats(0.05, 1000)


@st.composite
def runs(draw):
    """Two or three trials of one stage, each of another worker count."""
    merge = st.fixed_dictionaries(dict.fromkeys(("import", "merge", "unattributed"), SECONDS))
    counts = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3, unique=True))
    worker = st.fixed_dictionaries(
        dict.fromkeys(("container_start", "import", "read", "compute", "write"), SECONDS)
        | {"unattributed": st.floats(0, 5)}
    )
    return [(draw(st.lists(worker, min_size=n, max_size=n)), draw(merge)) for n in counts]


def built(new_run, run):
    builder = new_run()
    for workers, merge in run:
        builder.trial("segment", workers, merge=merge, cpu_wait_s=0.0)
    return builder


def of_run(builder):
    return limits(builder.trials, builder.workers)


def gains(found):
    return [{cause.code: cause.gain for cause in limit.causes} for limit in found]


def spent(workers, merge, *phases):
    """Worker-seconds of one trial in some phases."""
    tasks = [*workers, *([merge] if len(workers) > 1 else [])]
    return sum(task.get(phase, 0.0) for task in tasks for phase in phases)


def by_hand(workers, merge, scale, base=None):
    """Wall time of one trial without each cause, written out worker by worker."""
    merge = merge if len(workers) > 1 else dict.fromkeys(merge, 0.0)
    merge_s = sum(merge.values())
    whole = [sum(worker.values()) for worker in workers]
    computed = [worker["compute"] for worker in workers]
    rest = [t - u for t, u in zip(whole, computed, strict=True)]

    def without(*phases):
        own_s = spent(workers, merge, *phases)
        base_s = own_s if base is None else spent(*base, *phases)
        grown = 1 - base_s / own_s if own_s > base_s else 0.0
        slowest_s = max(
            t - grown * sum(worker[phase] for phase in phases)
            for t, worker in zip(whole, workers, strict=True)
        )
        return slowest_s + merge_s - grown * sum(merge.get(phase, 0.0) for phase in phases)

    return {
        "imbalance": max(rest) + sum(computed) / len(workers) + merge_s,
        "start-up": without("container_start", "import"),
        "reading": without("read"),
        "writing": without("write"),
        "merging": max(whole),
        "contention": max(whole) + merge_s,
        "work-inflation": max(r + scale * u for r, u in zip(rest, computed, strict=True)) + merge_s,
        "unattributed": without("unattributed"),
    }


@pytest.mark.slow
@given(run=runs())
@settings(max_examples=30)
def test_each_cause_is_what_is_written_out_by_hand_and_gives_back_no_more_than_its_seconds(
    new_run, run
):
    trials = {len(workers): (workers, merge) for workers, merge in run}
    computed = {n: sum(w["compute"] for w in workers) for n, (workers, _) in trials.items()}
    wall_s = {n: by_hand(*trial, 1.0)["contention"] for n, trial in trials.items()}
    for found in some(of_run(built(new_run, run))):
        n0, n = found.baseline_workers, found.workers
        base_s = by_hand(*trials[n0], 1.0)
        own_s = by_hand(*trials[n], computed[n0] / computed[n], trials[n0])
        expected = {code: n0 * base_s[code] / (n * own_s[code]) for code in CAUSES}
        assert {cause.code: cause.efficiency for cause in found.causes} == pytest.approx(
            expected, rel=1e-4
        )
        for cause in found.causes:
            if cause.code not in {"imbalance", "work-inflation"}:
                assert -1e-6 <= cause.seconds < wall_s[n]
            # Evening out the computing may lengthen a trial whose other phases are uneven.
            if cause.code != "imbalance":
                highest = n0 * wall_s[n0] / (n * (wall_s[n] - cause.seconds))
                assert cause.efficiency <= highest * (1 + 1e-4)
