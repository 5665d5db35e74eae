import sys

import pytest

from pyscale_stages.measure.nodename import node_name
from startedranks import run_ranks

MEETS = """\
import os, sys
from multiprocessing.connection import Client, Listener
out, rank = sys.argv[2], int(sys.argv[5])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
ranks = int(os.environ["WORLD_SIZE"])
assert (os.environ["RANK"], os.environ["LOCAL_RANK"]) == (str(rank), str(rank))
assert os.environ["LOCAL_WORLD_SIZE"] == str(ranks)
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
FAILS = """\
import os, signal, sys, threading
if int(sys.argv[5]) == 1:
    {does}
threading.Event().wait()
"""


# The stage of a rank that has ended looks at the page cache of the input, which opens it: so the
# second rank ends when the stage of the first no longer watches the input.
WRITES = """\
import os, sys
rank, watcher = int(sys.argv[5]), sys.argv[2] + ".watcher"
def watches(process):
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            if "inotify" in os.readlink(f"/proc/{process}/fd/{name}"):
                return True
        except FileNotFoundError:
            pass
    return False
if rank == 0:
    open(watcher, "w").write(f"{os.getppid()}\\n")
    open(sys.argv[2], "w").write("a")
else:
    while not (os.path.exists(watcher) and open(watcher).read().endswith("\\n")):
        pass
    while watches(int(open(watcher).read())):
        pass
"""


@pytest.fixture
def ranks(movie, tmp_path):
    """Run a program as ranks, each a process of the stage."""

    def run(program, count, output="met.csv", **keys):
        (tmp_path / "program.py").write_text(program)
        params = {
            "command": f"{sys.executable} program.py {RANKED}",
            "folder": str(tmp_path),
            "split": "ranks",
            "output": output,
        }
        return run_ranks(
            tmp_path / "ranks",
            count,
            *("--input", f"input={movie}"),
            stage="command",
            params=params | keys,
        )

    return run


@pytest.mark.parametrize("number", [1, 3])
def test_ranks_begin_together_and_find_each_other(ranks, number):
    ended = ranks(MEETS, number)
    results = [one.result for one in ended if one.result is not None]
    assert [(one.status, one.error) for one in results] == [("done", None)] * number
    expected = "rank,threads\n" + "".join(f"{rank},1\n" for rank in range(1, number))
    assert (ended[0].output / "met.csv").read_text() == expected
    assert [metric.value for one in results for metric in one.measured] == [*range(1, number + 1)]
    # All share one piece of work, and the first rank answers for it.
    assert [one.frames for one in ended] == [6, *[0] * (number - 1)]
    assert [one.output.exists() for one in ended[1:]] == [False] * (number - 1)
    assert {"import", "compute"} <= {span.phase for one in results for span in one.spans}


READS = "if rank == 1:\n    open(sys.argv[1], 'rb').read()\n"


@pytest.mark.parametrize(("more", "expected"), [("", ["input-unread"]), (READS, [])])
def test_only_that_no_rank_read_the_input_is_warned_of(ranks, more, expected):
    results = [one.result for one in ranks(WRITES + more, 2)]
    assert [one.status for one in results] == ["done"] * 2
    assert [told.code for one in results for told in one.warned] == expected


def test_a_rank_that_fails_before_it_comes_is_heard_by_those_who_wait(ranks):
    zero, one = ranks("", 2, output="program.py/none")
    for rank in (zero, one):
        assert rank.result.error is not None, rank.said


@pytest.mark.parametrize(
    ("does", "keys", "own", "others"),
    [
        (
            "sys.exit('no room')",
            {},
            "the command of the step failed with exit code 1; its last lines: no room",
            f"rank 1 of 3 on {node_name()} ended (the command of the step failed with exit code 1; "
            "its last lines: no room), so rank {} stopped too",
        ),
        (
            "threading.Event().wait()",
            {"at_most_s": 1.0},
            "was ended, as it took longer than 1 s",
            "was ended, as it took longer than 1 s",
        ),
        (
            "sys.exit(os.kill(os.getppid(), signal.SIGKILL))",
            {},
            None,
            f"rank 1 of 3 on {node_name()} was ended, so rank {{}} stopped too",
        ),
    ],
    ids=["fails", "hangs", "is killed"],
)
def test_a_rank_that_ends_badly_ends_all_and_is_named(ranks, does, keys, own, others):
    zero, one, two = ranks(FAILS.format(does=does), 3, **keys)
    if own is None:
        assert one.result is None
    else:
        assert own in one.sentence
    assert others.format(0) in zero.sentence
    assert others.format(2) in two.sentence
