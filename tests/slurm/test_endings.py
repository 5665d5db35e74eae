"""Why a real Slurm ended a job, as its queue and its accounts tell."""

import pytest

from atleastone import some
from pyscale.slurm.accounts import ask_accounts, ends_of
from pyscale.slurm.endings import cause_of, ended_by_slurm
from pyscale.slurm.queue import SlurmSilent, jobs_named
from slurm import cgroups

NAME = "pyscale-ends"
MIB = 1 << 20
OVER_ITS_MEMORY = "exec python3 -c 'held = bytes(1) * (400 << 20); import time; time.sleep(600)'"


@pytest.fixture
def submit(slurm_with_accounting, tmp_path):
    def call(command, *options):
        script = tmp_path / "job.sh"
        script.write_text(f"#!/bin/sh\n{command}\n")
        usual = (f"--job-name={NAME}", "--output=/dev/null", "--no-requeue")
        return slurm_with_accounting.submit(*usual, *options, script)

    return call


def told(slurm, *job_ids):
    """Wait for the ends of jobs; return what the queue and what the accounts tell of them."""
    jobs = {}
    ends = {}

    def known():
        # The accounts may tell some seconds long that an element never began which did.
        jobs.update(jobs_named(NAME))
        ends.update(ends_of(job_ids))
        return ends.keys() & jobs.keys() >= set(job_ids) and all(
            not jobs[job_id].alive
            and ends[job_id].node == jobs[job_id].node
            and ends[job_id].memory_bytes is not None
            for job_id in job_ids
        )

    slurm.wait_for(known, f"the accounts knew of {job_ids}")
    return jobs, ends


def causes(slurm, *job_ids):
    """Wait for the ends of jobs; return why by the queue alone, and by the accounts alone."""
    jobs, ends = told(slurm, *job_ids)
    return (
        [cause_of(job_id, jobs[job_id], None) for job_id in job_ids],
        [cause_of(job_id, None, ends[job_id]) for job_id in job_ids],
    )


def test_memory_that_ran_out_is_told_with_how_much_there_was(
    slurm_with_accounting, submit, missing
):
    if not cgroups.can_limit_memory():
        missing("memory limits by cgroups", cgroups.HOW_TO_GET_THEM)
    job = submit(OVER_ITS_MEMORY, "--mem=100M")
    # The batch script itself fails with another code than its step.
    step = submit(f"srun --mem=100M {OVER_ITS_MEMORY.removeprefix('exec ')}", "--mem=600M")
    by_queue, by_accounts = causes(slurm_with_accounting, job, step)
    assert by_queue[0].kind == "OutOfMemory"
    assert [cause.kind for cause in by_accounts] == ["OutOfMemory", "OutOfMemory"]
    assert {cause.exit_code for cause in by_accounts} == {3}
    assert "of 0.0977 GiB that it asked for" in by_accounts[0].message
    assert ends_of([job])[job].memory_bytes == 100 * MIB


@pytest.mark.slow
def test_a_time_limit_and_a_node_that_died_are_told(slurm_with_accounting, submit, tmp_path):
    late = submit("exec sleep infinity", "--time=5", "--nodelist=n1")
    begun = tmp_path / "begun"
    step = f"touch '{begun}'; exec sleep infinity"
    lost = submit(f'srun sh -c "{step}"', "--nodelist=n2")
    slurm_with_accounting.wait_until_running(late, lost)
    # A step that has not begun when its slurmd dies fails, and its job with it.
    slurm_with_accounting.wait_for(begun.exists, "the step ran")
    slurm_with_accounting.end_time_of(late)
    slurm_with_accounting.kill_node("n2")
    for of_late, of_lost in causes(slurm_with_accounting, late, lost):
        assert (of_late.kind, of_late.exit_code) == ("TimeLimit", 3)
        assert "its time limit on n1" in of_late.message
        assert (of_lost.kind, of_lost.exit_code) == ("NodeFail", 1)
        assert "lost its node n2" in of_lost.message


def test_preemption_is_told(slurm_with_accounting, submit):
    job = submit("exec sleep infinity", "--nodelist=n1")
    slurm_with_accounting.wait_until_running(job)
    slurm_with_accounting.preempt("n1")
    for (cause,) in some(causes(slurm_with_accounting, job)):
        assert (cause.kind, cause.exit_code) == ("Preempted", 1)
        assert "was preempted on n1" in cause.message


def test_a_cancelled_element_is_told_whether_it_ran_or_waited(slurm_with_accounting, submit):
    array = submit("exec sleep infinity", "--array=0-3%1")
    ran, waited = f"{array}_0", f"{array}_2"
    slurm_with_accounting.wait_until_running(ran)
    slurm_with_accounting.run("scancel", array)
    by_queue, by_accounts = causes(slurm_with_accounting, ran, waited)
    for of_ran, of_waited in (by_queue, by_accounts):
        assert (of_ran.kind, of_waited.kind) == ("Cancelled", "Cancelled")
        assert " on n" in of_ran.message
        assert of_waited.message.startswith(f"job {waited} was cancelled")
        assert "before it began" in of_waited.message
    assert ends_of([ran])[ran].cancelled_by is not None


def test_a_job_that_failed_by_itself_was_not_ended_by_slurm(slurm_with_accounting, submit):
    failed = submit("exit 3")
    killed = submit("kill -SEGV $$")
    not_started = submit("true", "--output=/no/such/folder/log")
    ids = (failed, killed, not_started)
    jobs, ends = told(slurm_with_accounting, *ids)
    by_accounts = [cause_of(job_id, None, ends[job_id]) for job_id in ids]
    assert [cause.message.split(":")[0].partition(" on ")[0] for cause in by_accounts] == [
        f"job {failed} failed with exit code 3",
        f"job {killed} was killed by SIGSEGV",
        f"job {not_started} could not be started",
    ]
    assert [ended_by_slurm(i, jobs[i], ends[i]) for i in ids] == [None] * 3


def test_accounts_that_do_not_answer_know_nothing_and_it_can_be_told_why(
    slurm_with_accounting, submit
):
    job = submit("true")
    causes(slurm_with_accounting, job)
    slurm_with_accounting.stop_slurmdbd()
    assert ends_of([job]) == {}
    with pytest.raises(SlurmSilent, match="^sacct: Problem talking to the database"):
        ask_accounts([job])


def test_a_cluster_without_accounts_says_so(slurm):
    with pytest.raises(SlurmSilent, match="accounting storage is disabled"):
        ask_accounts(["1"])
