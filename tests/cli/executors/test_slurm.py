"""What no real Slurm does when it is told to: fall silent in between, or never end a job."""

import os

import pytest

from programs import put_program
from pyscale.errors import UserError
from pyscale.executors import slurm
from pyscale.executors.protocol import Batch
from pyscale.executors.slurm import SlurmExecutor
from pyscale.planning.sites import Site
from pyscale.slurm import queue
from pyscale.store.journal import Journal
from pyscale.store.records import Jobs, TaskOrder
from pyscale.store.taskfiles import read_jobs, read_task, write_jobs, write_order
from refusals import refused
from trials import end_task, error_of

TASKS = ("w0", "w1")
SQUEUE = """\
#!/bin/sh
[ -e {folder}/away ] && echo 'squeue: error: Unable to contact slurm controller' >&2 && exit 1
for task in 0 1; do
    printf '\\03617_%s\\037%s\\037n1\\037N/A\\037None\\037(null)\\n' $task $(cat {folder}/state)
done
"""


class PretendedSlurm:
    """Commands of a Slurm that holds one array of two, the job 17, in one state."""

    def __init__(self, folder):
        self._folder = folder
        for command in ("sbatch", "scancel", "sinfo", "srun"):
            self.put(command, "")
        self.put("squeue", SQUEUE.format(folder=folder))
        self.says("RUNNING")

    def put(self, command, lines):
        put_program(self._folder, command, lines)

    def says(self, state):
        (self._folder / "state").write_text(state)

    def falls_silent_when_cancelled(self):
        self.put("scancel", f"touch {self._folder}/away")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    folder = tmp_path / "slurm"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(slurm, "PATIENCE_S", 0.1)
    # These commands answer, however busy the machine is.
    monkeypatch.setattr(queue, "TIME_LIMIT_S", 600.0)
    return PretendedSlurm(folder)


@pytest.fixture
def trial(run):
    """A trial of two workers, which were submitted as the job 17."""
    trial = run.plan.trial("contact-n2-b1")
    for task in TASKS:
        run.task(trial, task).mkdir(parents=True)
        write_order(run.task(trial, task), TaskOrder(argv=("true",)))
    write_jobs(run.trial(trial), "windows", Jobs(job_ids={"w0": "17_0", "w1": "17_1"}))
    return trial


@pytest.fixture
def executor(cluster, run):
    return executor_of(run)


def executor_of(run):
    site = Site(name="here", summary="a pretended cluster")
    return SlurmExecutor(run, site, Journal(run.journal_file))


def batch(run, trial, name, *tasks):
    orders = {run.task(trial, task): TaskOrder(argv=("true",)) for task in tasks}
    return Batch(trial, name, orders, len(orders), lambda _jobs: None, lambda: None)


def test_jobs_that_never_end_or_of_which_slurm_says_nothing_are_told_of(cluster, executor, trial):
    cluster.says("COMPLETING")
    with refused(UserError):
        executor.end_all()
    cluster.says("RUNNING")
    cluster.falls_silent_when_cancelled()
    with refused(UserError):
        executor.end_all()


def test_what_a_cancelled_job_still_writes_is_no_failure(cluster, executor, run, trial):
    done, running = (run.task(trial, task) for task in TASKS)
    token = read_task(running).order.token
    end_task(done, 1)
    cluster.falls_silent_when_cancelled()
    with pytest.raises(UserError):
        executor.end_all()
    # Its launcher had begun to write when the order was withdrawn.
    end_task(running, -15, token)
    assert read_task(running).state == "absent"
    assert read_task(done).state == "failed"
    assert read_jobs(run.trial(trial)) == {}


def test_a_killed_task_whose_job_never_ends_stays_unexplained(cluster, executor, run, trial):
    cluster.says("COMPLETING")
    for task in TASKS:
        end_task(run.task(trial, task), -9)
    assert executor.take_up(batch(run, trial, "windows", *TASKS))
    assert error_of(run.task(trial, "w0")).kind == "Killed"


def test_a_merge_that_is_submitted_again_is_not_known_by_its_earlier_job(
    cluster, executor, run, trial
):
    write_jobs(run.trial(trial), "merge", Jobs(job_ids={"merge": "16"}))
    run.task(trial, "merge").mkdir()
    cluster.put("sbatch", "echo 'sbatch: error: no more jobs for you' >&2; exit 1")
    with refused(UserError):
        executor.run(batch(run, trial, "merge", "merge"))
    assert read_jobs(run.trial(trial)) == {"w0": "17_0", "w1": "17_1"}


def test_where_slurm_is_not_no_run_waits_for_it(run, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(UserError):
        executor_of(run)
