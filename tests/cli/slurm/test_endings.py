"""Why a job is gone is told in a sentence: what happened, where, and what to do."""

import os
import pwd

import pytest

from pyscale.slurm.accounts import JobEnd
from pyscale.slurm.endings import cause_of, ended_by_slurm
from pyscale.slurm.queue import QueuedJob


def ended(state, **known):
    usual = {"cancelled_by": None, "exit_code": 0, "signal": 0, "node": "n1", "elapsed_s": 20}
    usual |= {"time_limit_s": 300, "memory_bytes": 3 << 29, "peak_memory_bytes": None}
    return JobEnd(state=state, **(usual | known))


def queued(state, node="n2"):
    return QueuedJob(job_id="17", state=state, node=node, reason="None", start=None)


@pytest.mark.parametrize(
    ("state", "kind", "exit_code", "words"),
    [
        (
            "OUT_OF_MEMORY",
            "OutOfMemory",
            3,
            "on n1, of 1.5 GiB that it asked for: raise memory_gib",
        ),
        ("TIMEOUT", "TimeLimit", 3, "time limit on n1, of 5 min: raise time_min"),
        ("DEADLINE", "TimeLimit", 3, "deadline on n1"),
        ("NODE_FAIL", "NodeFail", 1, "lost its node n1,"),
        ("BOOT_FAIL", "NodeFail", 1, "its node n1 did not boot"),
        ("PREEMPTED", "Preempted", 1, "was preempted on n1"),
        ("CANCELLED", "Cancelled", 1, "was cancelled on n1: resume the run"),
        ("REVOKED", "Cancelled", 1, "another cluster"),
    ],
)
def test_what_slurm_ended_has_its_reason(state, kind, exit_code, words):
    cause = cause_of("17", None, ended(state))
    assert (cause.kind, cause.exit_code) == (kind, exit_code)
    assert cause.message.startswith("job 17 ")
    assert words in cause.message
    assert ended_by_slurm("17", ended(state)) == cause


def test_the_queue_and_the_accounts_complete_each_other():
    assert "was cancelled before it began" in cause_of("17", queued("CANCELLED", ""), None).message
    # Of a job that Slurm starts by srun, one step without memory fails the whole.
    cause = cause_of("17", queued("FAILED"), ended("OUT_OF_MEMORY"))
    assert cause.kind == "OutOfMemory"
    cause = cause_of("17", queued("COMPLETED"), None)
    assert cause.kind == "Lost"
    assert "completed on n2" in cause.message
    assert "filesystem that the nodes share" in cause.message


@pytest.mark.parametrize("state", ["OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL", "PREEMPTED"])
def test_the_queue_is_enough_where_there_are_no_accounts(state):
    by_queue = cause_of("17", queued(state), None)
    by_accounts = cause_of("17", None, ended(state))
    assert (by_queue.kind, by_queue.exit_code) == (by_accounts.kind, by_accounts.exit_code)
    assert "n2" in by_queue.message
    assert "of " not in by_queue.message.partition("n2")[2].partition(":")[0].split()


def test_who_cancelled_is_told_where_it_is_known():
    me = pwd.getpwuid(os.getuid())
    by_me = cause_of("17", None, ended("CANCELLED", cancelled_by=me.pw_uid)).message
    assert f"was cancelled by {me.pw_name} on n1" in by_me
    by_stranger = cause_of("17", None, ended("CANCELLED", cancelled_by=4_000_123)).message
    assert "was cancelled by user 4000123 on n1" in by_stranger


@pytest.mark.parametrize(
    ("known", "kind", "words"),
    [
        ({"exit_code": 7}, "Failed", "failed with exit code 7 on n1"),
        ({"signal": 11}, "Killed", "was killed by SIGSEGV on n1"),
        ({"signal": 53}, "Failed", "could not be started on n1: check that the run's folder"),
        ({"signal": 99}, "Killed", "was killed by signal 99 on n1"),
    ],
)
def test_a_job_that_failed_by_itself_tells_how(known, kind, words):
    end = ended("FAILED", **known)
    cause = cause_of("17", None, end)
    assert (cause.kind, cause.exit_code) == (kind, 1)
    assert words in cause.message
    assert ended_by_slurm("17", end) is None


@pytest.mark.parametrize("job", [None, queued("RUNNING")])
def test_a_job_of_which_nobody_knows_the_end_has_vanished(job):
    cause = cause_of("17", job, None)
    assert (cause.kind, cause.exit_code) == ("Lost", 1)
    assert "vanished" in cause.message
    assert "resume the run" in cause.message
