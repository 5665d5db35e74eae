"""How ranks find each other, and how each way of missing each other is said."""

import json

import pytest
from torch.distributed import FileStore

from pyscale_stages.errors import BadInput
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import joined
from pyscale_stages.ranks.network import this_network
from pyscale_stages.ranks.rank_failure import tell_end
from pyscale_stages.ranks.rendezvous import Arrival, Meeting, key_of
from refusals import refused


def test_ranks_that_do_not_come_in_time_are_named_and_told_so_when_they_come(ranks):
    first = ranks.end(ranks.start("talk", 1, 3, timeout_s=1))
    late = ranks.end(ranks.start("talk", 0, 3))
    assert (first.code, late.code) == (1, 1)
    assert first.error.startswith(
        f"1 of 3 ranks came to {ranks.meeting} within 1 s; missing: ranks 0 and 2: start all"
    )
    assert late.error == (
        f"rank 1 of 3 had ended when rank 0 came to {ranks.meeting} ({first.error}): give the "
        "ranks of each attempt a file that does not exist yet"
    )


def test_a_file_of_an_earlier_attempt_is_refused(ranks):
    ranks.run("meet_without_the_last", 2)
    assert ranks.meeting.exists()
    for outcome in ranks.run("talk", 2):
        assert outcome.code == 2
        assert "was used before, or more than 2 ranks were started: give" in outcome.error


def test_two_ranks_of_one_number_are_refused(ranks):
    processes = [ranks.start("talk", 1, 2) for _ in range(2)]
    for outcome in map(ranks.end, processes):
        assert outcome.code == 2
        assert outcome.error.startswith("2 processes (on ")
        assert f"came to {ranks.meeting} as rank 1: give each another --rank" in outcome.error


class LooksLate:
    """A store whose first wait ends too early for what happens right after it."""

    def __init__(self, store, happens):
        self._store = store
        self._happens = happens
        self._waited = False

    def __getattr__(self, name):
        return getattr(self._store, name)

    def wait(self, *given):
        """Wait, but for the first time."""
        if self._waited:
            self._store.wait(*given)
            return
        self._waited = True
        self._happens()
        raise RuntimeError("not all were set")


def test_a_rank_of_the_same_number_that_came_and_ended_between_two_looks_is_found_out(tmp_path):
    path = tmp_path / "meeting"

    def other_comes_and_ends():
        other = Meeting(path, 1, 2, timeout_s=60)
        with refused(BadInput) as raised:
            other.await_all()
        other.leave_word(raised.value)

    meeting = Meeting(path, 1, 2, timeout_s=60)
    meeting.store = LooksLate(meeting.store, other_comes_and_ends)
    with refused(BadInput):
        meeting.await_all()


def test_those_who_have_come_when_the_time_is_over_have_come(tmp_path):
    path = tmp_path / "meeting"
    store = FileStore(str(path))
    store.add("arrivals", 1)
    store.set(key_of(0), json.dumps(Arrival(1, 2, node_name(), this_network())))
    store.set("ready/1", "")
    last = Meeting(path, 0, 2, timeout_s=0)
    assert len(last.await_all()) == 2
    last.await_ready()


def test_no_call_waits_longer_than_ten_seconds_for_a_file_that_is_gone(tmp_path):
    assert Meeting(tmp_path / "meeting", 0, 2, timeout_s=600).store.timeout.total_seconds() <= 10


def test_a_rank_too_many_is_refused_and_disturbs_nobody(ranks):
    first, last = (ranks.start("wait_for_the_last", number, 2) for number in range(2))
    assert first.stderr.readline() == "all have met\n"
    outcome = ranks.end(ranks.start("talk", 1, 2))
    assert outcome.code == 2
    assert "or more than 2 ranks were started" in outcome.error
    last.kill()
    assert f"because the connection with rank 1 on {node_name()} broke" in ranks.end(first).error


def test_a_rank_of_an_earlier_attempt_that_never_met_is_not_waited_for(ranks):
    """Its killed first rank has left its arrival; the new second rank takes it for a new one."""
    early = ranks.start("talk", 0, 2)
    ranks.until_set("arrival/0")
    early.kill()
    second = ranks.start("talk", 1, 2)
    ranks.until_set("ready/1")
    refused = ranks.end(ranks.start("talk", 0, 2))
    assert (refused.code, ranks.end(second).code) == (2, 1)
    assert "was used before" in refused.error


def test_ranks_that_expect_different_numbers_of_ranks_are_refused(ranks):
    outcomes = [ranks.end(p) for p in [ranks.start("talk", n, 2 + n) for n in range(2)]]
    assert sorted(outcome.code for outcome in outcomes) in ([1, 2], [2, 2])
    for outcome in outcomes:
        assert "expects 3 ranks" in outcome.error
        assert "give all of them the same --ranks" in outcome.error


@pytest.mark.parametrize(
    "place",
    [
        "movie.tif",
        "absent/meeting",
        ".",
        None,
    ],
)
def test_a_place_where_no_meeting_can_be_is_refused_and_left_as_it_is(tmp_path, place):
    movie = tmp_path / "movie.tif"
    movie.write_bytes(b"II*\0\x08\0\0\0")
    meeting = None if place is None else tmp_path / place
    with refused(BadInput), joined(0, 2, meeting):
        pytest.fail("a rank alone has met another")
    assert movie.read_bytes() == b"II*\0\x08\0\0\0"


def test_a_rank_that_waits_ends_when_another_is_said_to_have_ended(ranks):
    waiting = ranks.start("talk", 0, 2)
    ranks.until_set("arrival/0")
    tell_end(ranks.meeting, 1, "its process was ended by SIGKILL")
    outcome = ranks.end(waiting)
    assert outcome.code == 1
    assert outcome.error == (
        "rank 1 of 2 ended, so rank 0 stopped too: its process was ended by SIGKILL"
    )


def test_a_rank_that_comes_when_another_is_said_to_have_ended_does_not_wait(ranks):
    tell_end(ranks.meeting, 2, "its process was ended by SIGKILL")
    outcome = ranks.end(ranks.start("talk", 0, 3))
    assert outcome.code == 1
    assert outcome.error.startswith("rank 2 of 3 ended, so rank 0 stopped too: ")


def test_a_connection_that_broke_is_explained_by_how_the_rank_is_said_to_have_ended(ranks):
    first, last = (ranks.start("wait_for_the_last", number, 2) for number in range(2))
    assert first.stderr.readline() == "all have met\n"
    tell_end(ranks.meeting, 1, "its process was ended by SIGKILL")
    last.kill()
    assert f"rank 1 of 2 on {node_name()} ended, so rank 0 stopped too: its process was" in (
        ranks.end(first).error
    )
