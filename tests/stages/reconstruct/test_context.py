"""Exchanges of two real ranks, as the engine makes them and as they are timed."""

import pytest

import enginerank
from atleastone import some
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.reconstruction import COMPONENTS

pytestmark = pytest.mark.slow


def test_exchanges_are_timed_as_what_they_serve_after_one_meeting_and_outside_in_none():
    for rank in some(enginerank.both_ended()):
        assert set(rank["seconds"]) == set(COMPONENTS)
        assert all(seconds > 0 for seconds in rank["seconds"].values())
        assert sum(rank["seconds"].values()) <= rank["wall_s"]
        of_gradient = rank["of_gradient"]
        assert of_gradient["communication"] > of_gradient["gather"] == 0
        assert rank["seconds"]["communication"] == of_gradient["communication"]
        assert rank["untimed"] == enginerank.RANKS
        assert set(rank["before"].values()) == {0.0}
        assert rank["meets"] == [None, "barrier", "barrier"]
        assert rank["flags"] == [0.0, 1.0]
        assert rank["told"] == ["of rank 0"]


def test_a_rank_without_work_is_no_cause_for_the_engines_warnings():
    first, second = enginerank.both_ended()
    assert (first["of_five"], second["of_five"]) == ([0, 2, 4], [1, 3])
    assert (first["of_one"], second["of_one"]) == ([0], [])
    assert second["operators_here"] == 0
    assert "no work items" not in first["err"] + second["err"]


def test_a_broken_exchange_says_which_rank_is_gone_and_where():
    assert enginerank.both_ended()[0]["error"] == (
        f"rank 1 of 2 on {node_name()} was ended, so rank 0 stopped too"
    )


def test_random_weights_are_those_of_the_first_rank_on_all():
    # Each rank was given another seed.
    first, second = enginerank.both_ended()
    assert first["weights"] == second["weights"]
    assert first["step"] == pytest.approx(second["step"])
