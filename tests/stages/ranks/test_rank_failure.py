"""Ranks as a user starts them by hand, of which one ends before it comes to the others."""

import os
import signal
from contextlib import ExitStack

import pytest

from pyscale_stages.ranks.rank_failure import ended_file, first_end, tell_end
from startedranks import start as started

pytestmark = pytest.mark.slow

PATIENCE_S = 400.0
"""Longer than ranks need on a machine that has much else to do, shorter than they wait in vain."""


@pytest.fixture
def meeting(ranks):
    return ranks.meeting


@pytest.fixture
def start(tmp_path, meeting):
    """Start one of two ranks that load patches; words given later win."""
    (tmp_path / "slides").mkdir()

    def begin(rank, *words, slides=True, inside=None):
        given = ("--input", f"slides={tmp_path / 'slides'}") if slides else ()
        line = [
            *("-m", "pyscale_stages", "loader", "run", *given),
            *("--output", tmp_path / f"rank{rank}", "--rank", rank, "--ranks", 2),
            *("--meeting", meeting, *words),
        ]
        return started(ends, line, inside=inside)

    with ExitStack() as ends:
        yield begin


def end(process):
    """Wait for a rank; what it said is one line."""
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert "Traceback" not in said
    return process.returncode, said.rstrip("\n").rpartition("\n")[2]


def test_those_who_wait_for_a_rank_hear_why_it_does_not_come(ranks, start, tmp_path):
    (tmp_path / "wrong.json").write_text('{"batch_size": 0}')
    waiting = start(0, inside=())
    ranks.until_set("arrival/0")
    code, said = end(start(1, "--params", tmp_path / "wrong.json", inside=()))
    assert code == 2
    assert said.startswith("error: the parameters of loader are wrong: ")
    sentence = said.removeprefix("error: ")
    assert end(waiting) == (1, f"error: rank 1 of 2 ended, so rank 0 stopped too: {sentence}")


@pytest.mark.parametrize(
    ("words", "options", "sentence"),
    [
        ((), {"slides": False}, "loader needs --input slides=PATH ("),
        (("--device", "tpu"), {}, "invalid command line: see its output"),
    ],
)
def test_a_rank_of_which_no_task_can_be_made_is_heard_too(start, meeting, words, options, sentence):
    assert end(start(1, *words, **options))[0] == 2
    assert ended_file(meeting, 1).read_text().startswith(sentence)


def test_a_rank_that_is_interrupted_before_it_comes_is_heard_too(ranks, start, tmp_path):
    os.mkfifo(tmp_path / "params")
    waiting = start(0)
    ranks.until_set("arrival/0")
    interrupted = start(1, "--params", tmp_path / "params")
    # Opened as soon as the rank opens it, and closed before the wait: a signal that comes just
    # before the read begins is heard when the read ends.
    with (tmp_path / "params").open("wb"):
        interrupted.send_signal(signal.SIGINT)
    assert end(interrupted) == (130, "interrupted by Ctrl-C: run the same command again")
    assert end(waiting)[1].endswith(
        "rank 1 of 2 ended, so rank 0 stopped too: it was interrupted by Ctrl-C"
    )


def test_a_rank_that_is_interrupted_while_it_waits_says_so_to_who_comes_later(
    ranks, start, meeting
):
    waiting = start(0)
    ranks.until_set("arrival/0")
    waiting.send_signal(signal.SIGINT)
    assert end(waiting)[0] == 130
    code, said = end(start(1))
    assert code == 1
    assert "(it was interrupted by Ctrl-C): give the ranks of each attempt a file" in said
    assert sorted(meeting.parent.glob("meeting*")) == [meeting]


def test_another_attempt_at_the_same_meeting_is_told_to_take_another(start, meeting):
    """Nobody had come before; who comes cannot know whether the first is to be started again."""
    end(start(1, slides=False))
    # The kernel tells the start of a process in steps of 10 ms, and a fork takes less.
    ended = meeting.with_name(f"{meeting.name}.ended-1")
    os.utime(ended, (ended.stat().st_mtime - 1,) * 2)
    code, said = end(start(0))
    assert code == 1
    assert said.startswith(
        "error: rank 1 of 2 ended, so rank 0 stopped too: loader needs --input slides=PATH ("
    )
    advice = "if it is of another attempt, give the ranks of each another --meeting)"
    assert said.endswith(f"({meeting}.ended-1 is older than this rank: {advice}")
    code, said = end(start(1))
    assert code == 2
    assert "error: rank 1 of an earlier attempt has ended according to " in said
    assert said.endswith("): give the ranks of each attempt another --meeting")


def test_ranks_that_have_come_leave_no_word_beside_their_meeting(start, meeting):
    """They end because the folder of slides is empty."""
    ranks = [start(rank) for rank in range(2)]
    assert [end(rank)[0] for rank in ranks] == [2, 2]
    assert sorted(meeting.parent.glob("meeting*")) == [meeting]


@pytest.mark.parametrize(
    ("rank", "place"), [(1, "absent/meeting"), (1, "movie.tif"), (2, "meeting")], ids=str
)
def test_nothing_is_left_where_ranks_could_not_meet(start, tmp_path, rank, place):
    (tmp_path / "movie.tif").write_bytes(b"II*\0\x08\0\0\0")
    before = sorted(tmp_path.iterdir())
    assert end(start(rank, "--meeting", tmp_path / place, slides=False))[0] == 2
    assert sorted(tmp_path.iterdir()) == before


def test_the_rank_that_ended_first_is_the_one_that_is_named(tmp_path):
    """The others end because of it, and are said to have ended too."""
    meeting = tmp_path / "ranks"
    for rank, second in ((0, 30), (1, 20), (2, 10)):
        tell_end(meeting, rank, f"by error {rank}")
        os.utime(ended_file(meeting, rank), (second, second))
    assert first_end(meeting, 0, 3) == (2, "by error 2")


def test_a_rank_does_not_hear_of_itself_and_what_it_says_itself_stays(tmp_path):
    meeting = tmp_path / "ranks"
    tell_end(meeting, 1, "slide 7 is no slide")
    assert first_end(meeting, 1, 2) is None
    # Its launcher tells too.
    tell_end(meeting, 1, "its process ended with exit code 2")
    assert first_end(meeting, 0, 2) == (1, "slide 7 is no slide")


def test_a_folder_that_was_put_away_is_not_made_again(tmp_path):
    tell_end(tmp_path / "meeting" / "ranks", 1, "by an error")
    assert list(tmp_path.iterdir()) == []
    assert first_end(tmp_path / "meeting" / "ranks", 0, 2) is None
