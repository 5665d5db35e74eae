"""pyscale is killed at each of its steps, or Slurm is away then: nothing is lost or doubled."""

import os
import signal
from pathlib import Path

import pytest

from heldtasks import HeldTasks
from pyscale.store.taskfiles import forget_jobs, read_task

pytestmark = pytest.mark.slow

KILL_PYSCALE = "kill -9 $PPID"


@pytest.fixture
def once(instead):
    """Let a command of Slurm be other lines of shell the next time that it is called."""
    return lambda command, lines: instead(command, f'rm "$0"\n{lines}')


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """Tasks wait at their start."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return HeldTasks(tmp_path)


def assert_resume_counts_no_failure(runs, *set_aside, or_none=False):
    runs.completed(runs.resume())
    assert tuple(runs.set_aside()) in ({set_aside, ()} if or_none else {set_aside})
    assert runs.events("trial_failed", "trial_retried") == []
    assert runs.living_jobs() == []


@pytest.mark.parametrize(
    "lines",
    [KILL_PYSCALE, f'$real "$@"; {KILL_PYSCALE}'],
    ids=["before Slurm has the jobs", "when Slurm has them"],
)
def test_killed_while_it_submits(runs, once, lines):
    once("sbatch", lines)
    process = runs.start()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    # Where Slurm had them, they may have begun before they were cancelled.
    assert_resume_counts_no_failure(runs, "contact-n2-b1.interrupted-1", or_none=True)


def test_killed_before_it_has_recorded_jobs_that_run(runs, endless):
    process = runs.start()
    runs.launched(process, "w0")
    runs.launched(process, "w1")
    runs.kill(process)
    # As it is where the kill comes between the submission and its record.
    forget_jobs(runs.trial)
    endless.spare_others()
    assert_resume_counts_no_failure(runs, "contact-n2-b1.interrupted-1")


def test_killed_while_it_cancels(runs, once, endless):
    process = runs.start()
    runs.launched(process, "w0")
    runs.launched(process, "w1")
    once("scancel", f'$real "$@"; {KILL_PYSCALE}')
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    endless.spare_others()
    assert_resume_counts_no_failure(runs, "contact-n2-b1.interrupted-1")


def test_a_submission_that_is_taken_and_answered_with_an_error(runs, once):
    error = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    once("sbatch", f'$real "$@" > /dev/null; echo "{error}" >&2; exit 1')
    runs.completed(runs.start())
    assert runs.set_aside() == []
    assert runs.living_jobs() == []


def test_a_controller_that_is_away_when_jobs_are_submitted(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        runs.slurm.stop_slurmctld()
        runs.slurm.wait_for(lambda: bool(runs.events("slurm_silent")), "Slurm was found silent")
    runs.slurm.wait_for(
        lambda: set(runs.states().values()) >= {"done"} and "queued" in runs.states().values(),
        "the merge was ordered",
    )
    runs.slurm.start_slurmctld()
    runs.completed(process)
    assert runs.set_aside() == []
    # Not each question without an answer is told: only the first, and when there is one again.
    told = [event.kind for event in runs.events("slurm_silent", "slurm_answers")]
    assert told == ["slurm_silent", "slurm_answers"] * (len(told) // 2)


def test_a_controller_that_is_away_when_pyscale_is_interrupted(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1") as (launch, _):
        runs.slurm.stop_slurmctld()
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        code, said = runs.finished(process)
        assert code == 2
        assert "may still run" in said
        assert f"pyscale cancel {runs.run.path.name}" in said
        runs.slurm.start_slurmctld()
        second = runs.resume()
        runs.slurm.wait_for(lambda: bool(runs.events("trial_taken_up")), "the jobs were taken up")
    runs.completed(second)
    assert runs.launched(second).pid == launch.pid
    assert_resume_counts_no_failure(runs)


def test_what_outlives_its_node_for_slurm_spoils_no_other_attempt(runs):
    process = runs.start(site=runs.site(more="exclusive = true\n"))
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.slurm.kill_slurmd(launch.node)
        runs.completed(process)
        assert runs.set_aside() == ["contact-n2-b1.failed-1"]
        counted = read_task(runs.trial / "w0")
    runs.slurm.wait_for(lambda: not Path(f"/proc/{launch.pid}").exists(), "the old task ended")
    assert read_task(runs.trial / "w0") == counted
