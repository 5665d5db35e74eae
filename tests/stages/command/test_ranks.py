"""Ranks of a step: started at once, found by each other, and ended by the first that fails."""

from __future__ import annotations

import pytest

MEETS = """\
import os, sys
from multiprocessing.connection import Client, Listener
out, rank = sys.argv[2], int(sys.argv[5])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
ranks = int(os.environ["WORLD_SIZE"])
assert (os.environ["RANK"], os.environ["LOCAL_RANK"]) == (str(rank), str(rank))
print(f"::metric met={rank + 1}", file=sys.stderr, flush=True)
print("::phase compute", file=sys.stderr, flush=True)
if rank == 0:
    with Listener(place, backlog=ranks) as others:
        told = sorted(others.accept().recv() for _ in range(1, ranks))
    open(out, "w").write(f"rank,threads\\n" + "".join(f"{r},{t}\\n" for r, t in told))
else:
    while True:
        try:
            there = Client(place)
            break
        except ConnectionRefusedError:
            pass
    there.send((rank, os.environ["OMP_NUM_THREADS"]))
"""
RANKED = "{input} {output} {first} {stop} {rank}"
WAITS = """\
import sys, threading
if int(sys.argv[5]) == {rank}:
    {does}
threading.Event().wait()
"""


def test_ranks_start_at_once_and_find_each_other(step, tmp_path):
    result = step(MEETS, words=RANKED, threads=3, split="ranks", output="met.csv")
    assert result.status == "done", result.error
    assert (tmp_path / "out" / "met.csv").read_text() == "rank,threads\n1,1\n2,1\n"
    assert sorted(one.value for one in result.measured) == [1, 2, 3]
    assert [span.phase for span in result.spans][-2:] == ["compute", "write"]


@pytest.mark.parametrize(
    ("does", "at_most_s", "why"),
    [
        ("sys.exit('no room')", None, "rank 1 of 2: the command of the step failed with exit code"),
        ("pass", 1.0, "was ended, as it took longer than 1 s"),
    ],
)
def test_a_rank_that_fails_or_hangs_ends_all_and_is_named(step, does, at_most_s, why):
    program = WAITS.format(rank=1, does=does)
    keys = {"at_most_s": at_most_s} if at_most_s else {}
    result = step(program, words=RANKED, threads=2, split="ranks", output="a.csv", **keys)
    assert result.status == "failed"
    assert result.error is not None
    assert why in result.error.message
    assert "no room" in result.error.message or at_most_s


def test_a_rank_is_known_where_there_are_ranks_alone(step):
    result = step(MEETS, words=RANKED, output="met.csv")
    assert result.error is not None
    assert "names {rank}, which there is not" in result.error.message
