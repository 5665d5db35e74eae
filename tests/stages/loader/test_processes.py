import json
import os
import statistics
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch

from pyscale_stages.loader.processes import (
    Memory,
    Use,
    memory_of,
    used_between,
    uses_of,
)

HELD_BYTES = 64 << 20
FORKED_BYTES = 256 << 20
FORKING = f"""
import json, os
from dataclasses import asdict
from pyscale_stages.loader.processes import memory_of

block = bytearray(b"x") * {FORKED_BYTES}
alone = memory_of([os.getpid()])
ready, done = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    os.write(ready[1], b"x" if block.count(b"x") else b"")
    os.read(done[0], 1)
    os._exit(0)
os.read(ready[0], 1)
both = memory_of([os.getpid(), pid])
os.write(done[1], b"x")
os.waitpid(pid, 0)
print(json.dumps([asdict(alone), asdict(both)]))
"""


def test_what_is_read_between_two_moments_is_counted(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    from_storage = []
    for _ in range(5):
        before = uses_of([os.getpid()])
        file.read_bytes()
        used = used_between(before, uses_of([os.getpid()]))
        assert 1 << 20 <= used.read_bytes < 2 << 20
        from_storage.append(used.storage_read_bytes)
    # It was just written, and so lies in memory; the kernel may throw it out at any time.
    assert min(from_storage) < 1 << 20


def test_what_processes_used_is_summed_up_and_unknown_of_one_that_ended():
    before = {1: Use(10, 1, 1.0), 2: Use(20, 2, 2.0)}
    after = {1: Use(11, 3, 1.5), 2: Use(24, 7, 4.0)}
    assert used_between(before, after) == Use(5, 7, 2.5)
    unknown = after | {2: Use(None, 7, 4.0)}
    assert used_between(before, unknown) == Use(None, 7, 2.5)
    use = Use(1, 1, 1.0)
    assert used_between({1: use, 2: use}, {1: use}) == Use(None, None, None)
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert uses_of([process.pid]) == {}


@pytest.mark.slow
def test_resident_memory_is_the_most_that_there_was():
    code = f"import os; block = bytearray(b'x') * {FORKED_BYTES}; del block; print(*told())"
    told = "from pyscale_stages.loader.processes import memory_of\n"
    told += "def told(): m = memory_of([os.getpid()]); return m.pss_bytes, m.rss_bytes\n"
    answer = subprocess.run(
        [sys.executable, "-c", told + code], capture_output=True, text=True, check=True
    )
    now, peak = map(int, answer.stdout.split())
    assert now < FORKED_BYTES < peak


@pytest.mark.slow
def test_pages_that_two_processes_share_count_once():
    # By a program of its own: libraries that pytest shares with other programs would count more
    # as soon as one of these ends.
    answer = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, check=True
    )
    alone, both = (Memory(**told) for told in json.loads(answer.stdout))
    assert both.pss_bytes < alone.pss_bytes + FORKED_BYTES / 2
    assert both.rss_bytes > alone.rss_bytes + FORKED_BYTES


def added(hold):
    """Bytes of PSS and of RSS by which something that is held adds to what this process has.

    The median of several: libraries that this process shares with others, like torch, count more
    as soon as one of these ends, and less as soon as one begins.
    """
    pss, rss = [], []
    for _ in range(7):
        before = memory_of([os.getpid()])
        with hold():
            after = memory_of([os.getpid()])
        pss.append(after.pss_bytes - before.pss_bytes)
        rss.append(after.rss_bytes - before.rss_bytes)
    return statistics.median(pss), statistics.median(rss)


def test_a_batch_that_waits_in_shared_memory_counts():
    @contextmanager
    def waiting():
        # As torch keeps it: a file without a name, that is open and that nobody maps.
        file = os.open("/dev/shm", os.O_RDWR | os.O_TMPFILE)
        try:
            os.ftruncate(file, HELD_BYTES)
            os.posix_fallocate(file, 0, HELD_BYTES)
            yield
        finally:
            os.close(file)

    pss_bytes, rss_bytes = added(waiting)
    assert HELD_BYTES * 0.9 < pss_bytes < HELD_BYTES * 1.1
    assert rss_bytes < HELD_BYTES / 2


@pytest.mark.slow
def test_a_batch_that_is_mapped_and_open_counts_once():
    @contextmanager
    def mapped():
        batch = torch.ones(HELD_BYTES, dtype=torch.uint8).share_memory_()
        yield
        assert len(batch) == HELD_BYTES

    pss_bytes, _ = added(mapped)
    assert HELD_BYTES * 0.9 < pss_bytes < HELD_BYTES * 1.5
