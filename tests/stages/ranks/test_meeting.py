"""How ranks find each other, and how each way of missing each other is said."""

import json
import socket
from contextlib import ExitStack
from functools import partial
from itertools import count
from threading import Thread

import pytest

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks import meeting as meeting_module
from pyscale_stages.ranks.group import joined
from pyscale_stages.ranks.meeting import met
from pyscale_stages.ranks.rank_failure import first_end, tell_end
from refusals import refused


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_waits_in_vain_says_so(rank, tmp_path):
    with refused(StageError), met(tmp_path / "meeting", rank, 2, timeout_s=0.1):
        pytest.fail("a rank alone has met another")


def test_a_file_of_an_earlier_attempt_is_refused(ranks):
    ranks.run("meet_without_the_last", 2)
    assert ranks.meeting.exists()
    for outcome in ranks.run("talk", 2):
        assert outcome.code in {1, 2}
        assert "give the ranks of each attempt another --meeting" in outcome.error


def test_two_ranks_of_one_number_are_refused(ranks):
    processes = [ranks.start("talk", number, 3) for number in (0, 1, 1)]
    for outcome in map(ranks.end, processes):
        assert outcome.code in {1, 2}
        assert f"two processes came to {ranks.meeting} as rank 1: give each" in outcome.error


def test_two_first_ranks_are_refused(ranks):
    waiting = ranks.start("talk", 0, 2)
    ranks.until_first_waits()
    again = ranks.end(ranks.start("talk", 0, 2))
    assert (again.code, "was used before" in again.error) == (2, True)
    waiting.kill()


def test_ranks_that_expect_different_numbers_of_ranks_are_refused(ranks):
    outcomes = [ranks.end(p) for p in [ranks.start("talk", n, 2 + n) for n in range(2)]]
    assert [outcome.code for outcome in outcomes] == [2, 1]
    for outcome in outcomes:
        assert "expects 3 ranks" in outcome.error
        assert "give all of them the same --ranks" in outcome.error


def test_a_rank_too_many_is_refused_and_disturbs_nobody(ranks):
    first, last = (ranks.start("wait_for_the_last", number, 2) for number in range(2))
    assert first.stderr.readline() == "all have met\n"
    assert ranks.end(ranks.start("talk", 1, 2)).code == 1
    last.kill()
    assert f"rank 1 of 2 on {node_name()} " in ranks.end(first).error


@pytest.mark.parametrize("place", ["movie.tif", "absent/meeting", ".", None])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_place_where_no_meeting_can_be_is_refused_and_left_as_it_is(tmp_path, place, rank):
    movie = tmp_path / "movie.tif"
    movie.write_bytes(b"II*\0\x08\0\0\0" + bytes(1 << 17))
    meeting = None if place is None else tmp_path / place
    with refused(BadInput), joined(rank, 2, meeting):
        pytest.fail("a rank alone has met another")
    assert sorted(tmp_path.iterdir()) == [movie]
    assert movie.stat().st_size == 8 + (1 << 17)


def test_a_rank_that_waits_ends_when_another_is_said_to_have_ended(ranks):
    waiting = ranks.start("talk", 0, 2)
    ranks.until_first_waits()
    tell_end(ranks.meeting, "rank 1 ended (its process was ended by SIGKILL)")
    # It ended because of that one.
    tell_end(ranks.meeting, "rank 2 ended (its process was ended by SIGTERM)")
    outcome = ranks.end(waiting)
    assert outcome.code == 1
    assert outcome.error == "rank 1 ended (its process was ended by SIGKILL), so rank 0 stopped too"


STRANGERS = (
    b"",
    b"GET / HTTP/1.1\r\n",
    b"[]\n",
    b"[" * 60_000 + b"\n",
    *(
        b'{"secret": %s, "rank": 1}\n' % says
        for says in (b'"a"', '"é"'.encode(), b'"\\ud800"', b"1")
    ),
)


@pytest.mark.parametrize(("networks", "address"), [("one", "127.0.0.1"), ("several", "127.0.0.2")])
def test_ranks_meet_by_what_joins_their_nodes_and_a_stranger_is_none(
    networks, address, tmp_path, monkeypatch
):
    meeting = tmp_path / "meeting"
    found = {}
    if networks == "several":
        monkeypatch.setattr(meeting_module, "this_network", partial(next, map(str, count())))
    monkeypatch.setattr(meeting_module, "host_name", lambda: "127.0.0.2")

    def come(rank, ends):
        found[rank] = ends.enter_context(met(meeting, rank, 2, output="out"))

    with ExitStack() as first, ExitStack() as second:
        waiting = Thread(target=partial(come, 0, first))
        waiting.start()
        while not (meeting.exists() and meeting.read_text().endswith("\n")):
            waiting.join(0.01)
        port = json.loads(meeting.read_text())["port"]
        for says in STRANGERS:
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(says)
        come(1, second)
        waiting.join()
    assert found[1].answer["output"] == "out"
    for name, value in (("WORLD_SIZE", "2"), ("MASTER_ADDR", address)):
        assert [found[rank].variables[name] for rank in (0, 1)] == [value] * 2
    assert found[0].variables["MASTER_PORT"] == found[1].variables["MASTER_PORT"]
    assert not meeting.exists()


def test_a_folder_that_was_put_away_is_not_made_again(tmp_path):
    tell_end(tmp_path / "meeting" / "ranks", "by an error")
    assert list(tmp_path.iterdir()) == []
    assert first_end(tmp_path / "meeting" / "ranks") is None
