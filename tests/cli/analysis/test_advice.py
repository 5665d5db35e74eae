"""Which N is chosen for which objective, and how sure that is."""

import numpy as np
import pytest

from madeupadvice import choice
from pyscale.analysis.advice import Aim, choices, experiments
from pyscale.analysis.scaling import configurations

# Published wall times by N, and what follows from them by hand: S x E = T0**2 / (N T**2).
CONTACT = {1: 807.0, 2: 625.0, 4: 414.0, 8: 400.0}
CELLPOSE = {1: 512.0, 2: 313.0, 4: 216.0, 8: 165.0}


@pytest.fixture
def measure(new_run):
    """Trials with given wall times by N, one in each block."""

    def measure(walls_s, **changes):
        run = new_run()
        for n, own in walls_s.items():
            spent = {"counts": (n,), "blocks": len(own)} | changes
            run.curve("segment", lambda _, block, own=own: float(own[block]), **spent)
        return run.trials

    return measure


def chosen(trials, objective="knee", limit=None, **options):
    aims = [Aim(objective=objective, limit=limit)]
    (found,) = choices(configurations(trials), trials, aims=aims, **options)
    return found


def alike(walls_s, repeats=6):
    """Give each N trials that hardly differ."""
    return {n: [wall_s * (1 + 0.001 * k) for k in range(repeats)] for n, wall_s in walls_s.items()}


class TestObjectives:
    @pytest.mark.parametrize(
        ("walls_s", "changes", "knee", "fastest"),
        [
            (CONTACT, {}, 1, 4),
            (CELLPOSE, {}, 4, 8),
            # The knee does not depend on the base case.
            ({n: wall_s for n, wall_s in CELLPOSE.items() if n > 1}, {}, 4, 8),
            # Where more workers are slower the base case is chosen, and of equal ones the fewest.
            ({1: 10.0, 2: 11.0, 4: 13.0}, {}, 1, 1),
            ({1: 10.0, 2: 5.0, 4: 5.0}, {}, 2, 2),
            # Weak scaling: by wall time alone N = 1 would be the fastest.
            ({1: 10.0, 2: 10.5, 4: 11.0, 8: 40.0}, {"frames": 20}, 4, 4),
        ],
    )
    def test_the_knee_has_the_largest_speedup_times_efficiency(
        self, measure, walls_s, changes, knee, fastest
    ):
        trials = measure(alike(walls_s), **changes)
        assert chosen(trials).workers == knee
        assert chosen(trials, "fastest").workers == fastest

    @pytest.mark.parametrize("objective", ["fastest", "budget"])
    def test_as_fast_as_the_fastest_is_within_five_percent(self, measure, objective):
        for least_s, workers in ((20.0, 1), (19.9, 2)):
            trials = measure({1: [21.0] * 6, 2: [least_s] * 6, 4: [20.5] * 6, 8: [20.4] * 6})
            assert chosen(trials, objective, limit=1.0).workers == workers

    @pytest.mark.parametrize("objective", ["fastest", "budget"])
    def test_noise_on_a_flat_curve_asks_for_no_more_workers(self, measure, objective):
        noise = np.random.default_rng(5).lognormal(0, 0.02, (4, 10))
        trials = measure({n: 10 * own for n, own in zip((1, 2, 4, 8), noise, strict=True)})
        medians_s = configurations(trials)["wall_s"].to_list()
        assert min(medians_s) < medians_s[0]
        found = chosen(trials, objective, limit=1.0)
        assert (found.workers, found.sureness, found.at_edge) == (1, "sure", False)


@pytest.mark.parametrize(
    ("walls_s", "changes", "hours", "workers"),
    [
        # One that is used up exactly is kept.
        ({1: 3600.0, 2: 2500.0}, {}, 1.0, 1),
        # 8 x 10 s exceed 70 worker-seconds, and nothing else is within 5 % of 10 s.
        ({1: 21.0, 2: 20.2, 8: 10.0}, {}, 70 / 3600, 1),
        ({1: 21.0, 2: 20.2, 8: 10.0}, {}, 80 / 3600, 8),
        ({1: 10.0, 2: 10.5}, {"frames": 20}, 1.0, None),
    ],
)
def test_the_fastest_within_a_budget_is_chosen(measure, walls_s, changes, hours, workers):
    trials = measure({n: [wall_s] * 6 for n, wall_s in walls_s.items()}, **changes)
    assert chosen(trials, "budget", hours).workers == workers


class TestOtherLimits:
    @pytest.mark.parametrize(
        ("objective", "limit", "workers"),
        [
            # 512 s over 4 x 216 s are 0.59.
            ("min_efficiency", 0.6, 2),
            ("min_efficiency", 0.59, 4),
            ("deadline", 216.0, 4),
            ("deadline", 215.0, 8),
        ],
    )
    def test_each_bounds_the_choice(self, measure, objective, limit, workers):
        found = chosen(measure({n: [t] * 6 for n, t in CELLPOSE.items()}), objective, limit)
        assert (found.workers, found.sureness) == (workers, "sure")

    def test_a_limit_that_some_trials_miss_is_not_sure_and_names_the_next(self, measure):
        found = chosen(measure({1: [9.0] * 6, 2: [4.9, 5.2] * 4, 4: [3.0] * 8}), "deadline", 5.1)
        assert (found.workers, found.sureness, found.rival) == (2, "undecided", 4)

    def test_the_soonest_counts_the_wait_in_the_queue_where_it_is_known(self, measure):
        trials = measure(alike({1: 100.0, 2: 60.0, 4: 40.0}))
        assert chosen(trials, "soonest", waits_s={1: 5.0, 2: 10.0, 4: 300.0}).workers == 2
        found = chosen(trials, "soonest", waits_s={1: 5.0, 2: 10.0})
        assert found.workers is None
        assert "not known at N = 4" in str(found.refusal)


class TestWhatIsNeverChosen:
    def test_a_configuration_whose_output_disagrees(self, measure):
        trials = measure(
            alike({1: 10.0, 2: 5.0, 4: 2.0}),
            agreement=lambda n, _: 0.5 if n == 4 else 1.0,
            same=lambda n, _: n < 4,
        )
        for objective in ("knee", "fastest"):
            found = chosen(trials, objective)
            assert (found.workers, found.candidates) == (2, (1, 2))
            # A larger N was measured.
            assert not found.at_edge

    def test_a_configuration_without_a_timed_trial_and_where_all_disagree_none(self, measure):
        trials = measure(alike({1: 10.0, 2: 5.0}), failed=lambda n, _: ("w1",) if n == 2 else ())
        assert chosen(trials, "fastest").workers == 1
        lost = measure(alike({1: 10.0}), failed=("w0",))
        assert chosen(lost).refusal == "no timed trial"
        found = chosen(measure(alike({1: 10.0, 2: 5.0}), agreement=0.5, same=False))
        assert found.workers is None
        assert "is invalid" in str(found.refusal)


class TestHowSure:
    @pytest.mark.parametrize(
        ("walls_s", "repeats", "workers", "share", "sureness", "at_edge"),
        [
            (CONTACT, 6, 1, 1.0, "sure", False),
            # Below six trials it is unknown, and one candidate is no choice.
            *((CONTACT, repeats, 1, None, "unknown", False) for repeats in (1, 5)),
            ({4: 10.0}, 6, 4, None, "unknown", True),
        ],
    )
    def test_a_clear_choice_of_six_trials_is_sure(
        self, measure, walls_s, repeats, workers, share, sureness, at_edge
    ):
        found = chosen(measure(alike(walls_s, repeats)))
        assert (found.workers, found.share_chosen, found.rival) == (workers, share, None)
        assert (found.sureness, found.at_edge) == (sureness, at_edge)

    def test_two_that_are_as_good_leave_it_undecided_and_name_the_rival(self, measure):
        walls_s = {1: [20.0] * 8, 2: [4.0, 6.0] * 4, 4: [6.0, 4.1] * 4}
        found = chosen(measure(walls_s), "fastest")
        assert found.sureness == "undecided"
        assert {found.workers, found.rival} == {2, 4}

    def test_it_is_sure_to_be_as_fast_though_another_is_often_faster(self, measure):
        walls_s = {1: [10.0, 10.2] * 4, 2: [10.1, 10.0] * 4, 4: [5.0] * 8, 8: [5.1, 4.9] * 4}
        found = chosen(measure(walls_s), "fastest")
        assert (found.workers, found.share_chosen, found.rival) == (4, 1.0, None)

    def test_what_a_block_shares_does_not_make_it_less_sure(self, measure):
        blocks = [1.0, 3.0, 1.5, 2.5, 1.2, 2.0, 2.2]
        walls_s = {1: [11.0 * b for b in blocks], 2: [10.0 * b for b in blocks]}
        assert chosen(measure(walls_s), "fastest").rival is None
        # N = 2 lost its trial in the last block: the other six still tell.
        trials = measure(walls_s | {2: walls_s[2][:6]})
        assert chosen(trials, "fastest").share_chosen == 1.0
        apart = chosen(trials, "fastest", interleaved=False)
        assert apart.share_chosen < 0.8


@pytest.mark.parametrize(
    ("walls_s", "objective", "workers", "at_edge"),
    [
        (CELLPOSE, "knee", 4, False),
        (CELLPOSE, "fastest", 8, True),
        # From 24 to 25 workers even ideal scaling gains 4 % alone.
        ({24: 25.0, 25: 24.0}, "knee", 25, False),
    ],
)
def test_the_largest_measured_is_at_the_edge_if_it_beats_the_one_before(
    measure, walls_s, objective, workers, at_edge
):
    found = chosen(measure(alike(walls_s)), objective)
    assert (found.workers, found.at_edge) == (workers, at_edge)


def test_two_knees_that_are_alike_are_not_measured_without_end(measure):
    # Twice the workers in 1 / sqrt(2) of the time: both have the same speedup x efficiency.
    noise = np.random.default_rng(3).lognormal(0, 0.01, (2, 24))
    trials = measure({1: 14.142 * noise[0], 2: 10 * noise[1]})
    found = chosen(trials)
    assert found.sureness == "likely"
    assert found.is_close
    assert list(experiments(found, 24)) == []


def found(repeats=6, frames=None, **changes):
    return {one.code: one for one in experiments(choice(**changes), repeats, frames=frames)}


AT_EDGE = {"workers": 8, "at_edge": True}


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        # A sure choice within the measured range needs nothing, and nor does none.
        ({}, {}),
        ({"workers": None, "repeats": 1}, {}),
        # Too few trials are made enough, and two rivals timed twice as often beside the base.
        ({"repeats": 3, "share_chosen": None}, {"few-repeats": ((1, 2, 4, 8), 6)}),
        *(
            ({"repeats": 8, "share_chosen": share, "rival": 8}, {"undecided": ((1, 4, 8), 16)})
            for share in (0.5, 0.9)
        ),
        # The largest measured is doubled, as far as there are frames.
        (AT_EDGE, {"larger": ((1, 8, 16), 6)}),
        (AT_EDGE | {"frames": 12}, {"larger": ((1, 8, 12), 6)}),
        (AT_EDGE | {"frames": 8}, {}),
        # The smallest is halved where it is not one.
        ({"workers": 4, "baseline_workers": 4}, {"smaller": ((2, 4), 6)}),
        ({"workers": 1}, {}),
    ],
)
def test_what_stays_open_is_asked_for(changes, asked):
    experiments_asked = found(**changes)
    assert {code: (one.workers, one.repeats) for code, one in experiments_asked.items()} == asked
