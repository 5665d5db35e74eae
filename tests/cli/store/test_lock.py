"""Two processes cannot write one run; a dead one holds nothing."""

import errno
import fcntl
import os
import shutil
from multiprocessing import Pipe, get_context

import pytest

from pyscale.errors import UserError
from pyscale.store.lock import is_locked, lock_holder, run_lock, writer_here
from refusals import refused


def hold(run, pipe):
    with run_lock(run):
        pipe.send("held")
        pipe.recv()


@pytest.fixture
def other(tmp_path):
    """Another process that holds the run; a fork, which has nothing to import."""
    ours, theirs = Pipe()
    process = get_context("fork").Process(target=hold, args=(tmp_path, theirs))
    process.start()
    assert ours.recv() == "held"
    yield process
    process.kill()
    process.join()


def test_a_second_process_is_told_who_writes(tmp_path, other):
    assert is_locked(tmp_path)
    with pytest.raises(UserError, match=f"process {other.pid} on .*pyscale cancel"):
        run_lock(tmp_path, patience_s=0).__enter__()


def test_the_lock_of_a_killed_process_is_free(tmp_path, other):
    other.kill()
    other.join()
    assert not is_locked(tmp_path)
    with run_lock(tmp_path):
        holder = lock_holder(tmp_path)
        assert holder.pid == os.getpid()


def test_the_holder_is_found_from_inside_and_outside_of_a_job(tmp_path, monkeypatch):
    """Slurm may call the node otherwise than the host, whose process numbers these are."""
    monkeypatch.setenv("SLURMD_NODENAME", "n17")
    with run_lock(tmp_path):
        monkeypatch.delenv("SLURMD_NODENAME")
        holder = lock_holder(tmp_path)
        process = holder.process()
        assert process.pid == os.getpid()


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ESTALE])
def test_a_filesystem_without_locks_is_refused_for_writing_and_holds_nothing(
    tmp_path, monkeypatch, number
):
    def flock(_descriptor, _operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with refused(UserError):
        run_lock(tmp_path).__enter__()
    assert not is_locked(tmp_path)


class TestEndingTheWriter:
    def test_it_is_the_process_that_holds_the_lock(self, tmp_path, other):
        assert writer_here(tmp_path).pid == other.pid

    def test_the_writer_of_a_run_does_not_write_its_copy(self, tmp_path, other):
        assert other.pid
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("lock", "lock.json"):
            shutil.copy(tmp_path / name, copy)
        assert not is_locked(copy)
        with refused(UserError):
            writer_here(copy)
