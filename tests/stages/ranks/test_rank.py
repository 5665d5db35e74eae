"""Ranks that meet: what they do together, and how each ends where another one fails."""

import subprocess
import sys
from contextlib import ExitStack

import pytest

from atleastone import some
from pyscale_stages.measure.nodename import node_name
from startedranks import start as started

HOST = node_name()
PATIENCE_S = 400.0
"""For a rank that does what it should, on a busy machine."""
ALONE = """
import sys
from pyscale_stages.ranks.group import joined
with joined(0, 1, None) as group:
    group.meet()
    assert group.all_gather(None) == [None]
    assert (group.number, group.count) == (0, 1)
assert "torch" not in sys.modules
"""
TWICE = """
import sys
from pathlib import Path
from pyscale_stages.ranks.group import joined
number, folder = int(sys.argv[1]), Path(sys.argv[2])
for meeting in ("first", "second"):
    with joined(number, 2, folder / meeting) as group:
        assert group.all_gather(number) == [0, 1]
"""


def test_one_rank_alone_waits_for_nobody_and_imports_no_torch():
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_processes_whose_block_has_ended_may_meet_again_elsewhere(tmp_path):
    with ExitStack() as ends:
        lines = [["-c", TWICE, number, tmp_path] for number in range(2)]
        processes = [started(ends, line, inside=()) for line in lines]
        for process in processes:
            _, err = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, err) == (0, "")


def test_ranks_gather_values_in_their_order(ranks):
    outcomes = ranks.run("talk", 3)
    of_each = [{"number": n, "nothing": None, "text": "ä" * n} for n in range(3)]
    assert [outcome.given for outcome in outcomes] == [of_each] * 3
    assert [outcome.err for outcome in outcomes] == [""] * 3


def test_what_a_rank_gathers_is_read_and_never_executed(ranks):
    """Whoever reaches its port could send anything."""
    _, receiver = [ranks.start("send_a_pickle", number, 2) for number in range(2)]
    out, err = receiver.communicate(timeout=PATIENCE_S)
    assert "executed" not in out
    assert "JSONDecodeError" in err or "UnicodeDecodeError" in err


def test_a_meeting_that_ended_well_leaves_no_file_and_may_be_used_again(ranks):
    assert [outcome.code for outcome in ranks.run("talk", 2)] == [0, 0]
    assert not ranks.meeting.exists()
    assert [outcome.code for outcome in ranks.run("talk", 2)] == [0, 0]


@pytest.mark.parametrize("deed", ["meet_without_the_last", "gather_without_the_last"])
def test_a_killed_rank_ends_the_others_at_once_with_a_sentence(ranks, deed):
    *others, killed = ranks.run(deed, 3)
    assert killed.code == -9
    for number, outcome in enumerate(others):
        assert outcome.code == 1
        assert outcome.error == f"rank 2 of 3 on {HOST} was ended, so rank {number} stopped too"
        assert "Traceback" not in outcome.err


def test_a_rank_that_stops_answering_ends_the_others_after_the_timeout(ranks):
    last = ranks.start("wait_for_the_last", 1, 2)
    waited = ranks.end(ranks.start("wait_for_the_last", 0, 2, timeout_s=12))
    assert waited.code == 1
    assert "rank 0 of 2 stopped after waiting in vain for the others" in waited.error
    assert ranks.end(last).code == 1


@pytest.mark.parametrize(
    ("deed", "code", "told"),
    [
        ("fail_in_the_first", 2, "slide 7 is no slide: take it away"),
        ("break_in_the_first", 1, "ZeroDivisionError: by nought"),
    ],
    ids=["an error that a user can act on", "a defect"],
)
def test_the_others_are_told_which_error_ended_a_rank(ranks, deed, code, told):
    first, *others = ranks.run(deed, 3 if code == 2 else 2)
    assert first.code == code
    assert told in (first.error if code == 2 else first.err)
    for number, outcome in enumerate(others, start=1):
        assert outcome.code == 1
        assert outcome.error == (
            f"rank 0 of {len(others) + 1} on {HOST} ended ({told}), so rank {number} stopped too"
        )


def test_a_group_that_was_ended_inside_the_block_ends_quietly(ranks):
    # Ended by an interpreter of its own, as it is of no fork.
    for outcome in some(ranks.run("part_early", 2, inside=())):
        assert (outcome.code, outcome.given, outcome.err) == (0, "parted", "")


@pytest.mark.slow
def test_loader_processes_may_be_started_under_a_joined_group(ranks):
    of_each = {how: [6.0, 22.0, 38.0, 54.0] for how in ("fork", "spawn", "forkserver")}
    for outcome in some(ranks.run("load", 2)):
        assert outcome.given == [of_each] * 2


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_a_killed_rank_is_noticed_though_its_loader_processes_live(ranks, start_method):
    other, killed = ranks.run(f"load_and_die:{start_method}", 2)
    assert killed.code == -9
    assert other.error == f"rank 1 of 2 on {HOST} was ended, so rank 0 stopped too"
