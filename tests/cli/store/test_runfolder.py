"""The folder of a run: one process writes it, it is made safe, and its journal loses nothing."""

import errno
import fcntl
import os
import shutil
from multiprocessing import Pipe, get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.errors import UserError
from pyscale.store.journal import Journal
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


def test_a_link_may_lead_to_the_runs_own_files(run):
    (run.path / "own").symlink_to("plan.json")
    (run.path / "tasks" / "above").symlink_to(run.path)
    run.make_safe()
    assert all((run.path / link).is_symlink() for link in ("own", "tasks/above"))


def test_links_of_submitit_into_the_folder_that_a_run_was_copied_from_are_removed(run, tmp_path):
    run.submissions.mkdir()
    script = tmp_path / "elsewhere" / "17_submission.sh"
    link = run.submissions / ".submission_file_0a1b.sh"
    link.symlink_to(script)
    within = run.submissions / ".submission_file_2c3d.sh"
    within.symlink_to(run.submissions / "18_submission.sh")
    run.make_safe()
    assert [link.is_symlink(), within.is_symlink()] == [False, True]


@given(cut=st.integers(0, 400))
def test_a_torn_line_loses_itself_alone(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path)
    for trial in ("a", "b", "c"):
        journal.append("trial_finished", trial)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    journal.append("trial_finished", "d")
    kept = [event.trial for event in journal.read()]
    # A line that lost its newline alone is whole; one that lost a brace is not.
    survivors = [
        name
        for name, line in zip("abc", whole.splitlines(keepends=True), strict=True)
        if whole.index(line) + len(line) - 1 <= cut
    ]
    assert kept == [*survivors, "d"]
