"""A run in one job of Grid Engine: followed, left, cancelled, killed and finished."""

import os
import signal

import pytest

from forkedtasks import forked_tasks
from gridengine.daemons import say, wait_for
from pyscale.measuring.following import Queued
from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.lock import lock_holder
from trials import outputs
from waitingforruns import living, only_run, wait_for_event

pytestmark = pytest.mark.slow


@pytest.fixture
def in_its_middle(start, words, held):
    """Who follows a run whose first tasks stand still."""
    process = start(*words)
    wait_for_event("submitted", process)
    return process


def jobs(run):
    return read_allocations(run.path).job_ids


def is_known(job_id):
    return say("qstat", "-j", job_id, check=False) != ""


def test_a_job_computes_what_this_machine_does_and_writes_the_report(pyscale, words, labels):
    answer = pyscale(*words)
    assert answer.code == 0, answer
    in_job = only_run()
    assert (in_job.report / "benchmark_results_aggregated.csv").exists()
    assert len(jobs(in_job)) == 1
    with forked_tasks():
        where = words.index("--executor")
        here = pyscale(*words[:where])
    assert here.code == 0, here
    (other,) = (path for path in in_job.path.parent.iterdir() if path != in_job.path)
    assert outputs(in_job) == outputs(RunFolder(other))


def test_who_follows_may_leave_and_cancel_leaves_nothing(start, pyscale, in_its_middle, held):
    run = only_run()
    in_its_middle.send_signal(signal.SIGINT)
    _, said = in_its_middle.communicate()
    assert in_its_middle.returncode == 130
    assert f"job {jobs(run)[0]} goes on" in said
    assert "running" in pyscale("status", run.path.name).out
    assert pyscale("cancel", run.path.name).code == 0
    wait_for(lambda: not is_known(jobs(run)[0]) and living(run) == [], "all had ended")
    assert "cancelled" in pyscale("status", run.path.name).out
    held.spare_others()
    resumed = pyscale("resume", run.path.name)
    assert resumed.code == 0, resumed
    assert len(jobs(run)) == 2


@pytest.mark.parametrize("victim", ["job", "program"])
def test_whatever_ends_the_job_the_run_can_be_finished_in_another(
    pyscale, in_its_middle, held, victim
):
    run = only_run()
    if victim == "job":
        say("qdel", jobs(run)[0])
    else:
        os.kill(lock_holder(run.path).pid, signal.SIGKILL)
    _, said = in_its_middle.communicate()
    assert f"pyscale resume {run.path.name}" in said
    wait_for(lambda: living(run) == [], "the tasks went with their job")
    assert "interrupted" in pyscale("status", run.path.name).out
    held.spare_others()
    resumed = pyscale("resume", run.path.name)
    assert resumed.code == 0, resumed
    kinds = [event.kind for event in Journal(run.journal_file).read()]
    assert kinds[-1] == "run_finished"


def test_a_job_that_waits_is_queued_and_can_be_cancelled(pyscale, words, site):
    site.write_text(site.read_text().replace('"#$ -pe smp {cores}"', '"#$ -pe smp {cores}0"'))
    name = pyscale(*words, "--detach").out.strip()
    run = only_run()
    assert run.path.name == name
    assert "queued" in pyscale("status", name).out
    # It is not submitted twice.
    Queued(run, lambda _event: None).begin()
    assert len(jobs(run)) == 1
    assert pyscale("cancel", name).code == 0
    assert not is_known(jobs(run)[0])


def test_a_command_of_the_site_that_fails_is_named(pyscale, words, site):
    site.write_text(site.read_text().replace('submit = "qsub"', 'submit = "qsubmit"'))
    answer = pyscale(*words)
    assert answer.code == 2
    assert "`qsubmit" in answer.err
    assert "exit code 127" in answer.err
