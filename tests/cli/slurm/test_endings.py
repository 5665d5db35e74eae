"""Why a job is gone is told in a sentence: what happened, where, and what to do."""

import os
import pwd

import pytest

from pyscale.slurm.accounts import JobEnd
from pyscale.slurm.endings import cause_of, ended_by_slurm
from pyscale.slurm.queue import QueuedJob
from refusals import assert_said


def ended(state, **known):
    usual = {"cancelled_by": None, "exit_code": 0, "signal": 0, "node": "n1", "elapsed_s": 20}
    usual |= {"time_limit_s": 300, "memory_bytes": 3 << 29, "peak_memory_bytes": None}
    return JobEnd(state=state, **(usual | known))


def queued(state, node="n2"):
    return QueuedJob(job_id="17", state=state, node=node, reason="None", start=None)


ENDS = {
    "OUT_OF_MEMORY": ("OutOfMemory", 3),
    "TIMEOUT": ("TimeLimit", 3),
    "DEADLINE": ("TimeLimit", 3),
    "NODE_FAIL": ("NodeFail", 1),
    "BOOT_FAIL": ("NodeFail", 1),
    "PREEMPTED": ("Preempted", 1),
    "CANCELLED": ("Cancelled", 1),
    "REVOKED": ("Cancelled", 1),
}


@pytest.mark.parametrize("state", ENDS)
def test_what_slurm_ended_has_its_reason(state):
    cause = cause_of("17", None, ended(state))
    assert (cause.kind, cause.exit_code) == ENDS[state]
    assert ended_by_slurm("17", ended(state)) == cause
    assert_said(cause.message)


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
    ("known", "kind"),
    [
        ({"exit_code": 7}, "Failed"),
        ({"signal": 11}, "Killed"),
        ({"signal": 53}, "Failed"),
        ({"signal": 99}, "Killed"),
    ],
)
def test_a_job_that_failed_by_itself_tells_how(known, kind):
    end = ended("FAILED", **known)
    cause = cause_of("17", None, end)
    assert (cause.kind, cause.exit_code) == (kind, 1)
    assert ended_by_slurm("17", end) is None
    assert_said(cause.message)


@pytest.mark.parametrize("job", [None, queued("RUNNING")])
def test_a_job_of_which_nobody_knows_the_end_has_vanished(job):
    cause = cause_of("17", job, None)
    assert (cause.kind, cause.exit_code) == ("Lost", 1)
    assert "vanished" in cause.message
    assert "resume the run" in cause.message
