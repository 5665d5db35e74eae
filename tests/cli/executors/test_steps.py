import os
import sys

import pytest

from programs import put_program
from pyscale.executors.protocol import Batch
from pyscale.executors.steps import StepExecutor
from pyscale.planning.sites import Site
from pyscale.slurm import absence
from pyscale.store.journal import Journal
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import read_task

# Away at first; then it does what srun would: start the launcher.
SRUN = """
if [ ! -e {folder}/back ]; then
    touch {folder}/back
    echo 'srun: error: Unable to contact slurm controller (connect failure)' >&2
    exit 1
fi
while [ "$1" != '{python}' ]; do shift; done
SLURM_JOB_ID=17 SLURM_PROCID=0 exec "$@"
"""
ALWAYS_AWAY = "echo 'srun: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


@pytest.fixture
def pauses(monkeypatch):
    waited = []
    monkeypatch.setattr(absence, "wait", waited.append)
    return waited


@pytest.fixture
def started(run, tmp_path, monkeypatch, pauses):
    """Do the task w0 by steps of job 17; return its folder, and what Slurm saw of it."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    trial = run.plan.trial("contact-n1-b1")
    folder = run.task(trial, "w0")
    folder.mkdir(parents=True)
    exits = tmp_path / "exits"

    def start(srun):
        put_program(tmp_path / "bin", "srun", srun.format(folder=tmp_path, python=sys.executable))
        seen = f"[ -e {folder}/exit.json ] && echo failed >> {exits} || echo none >> {exits}"
        put_program(tmp_path / "bin", "squeue", f"{seen}\necho RUNNING")
        site = Site(name="here", summary="a pretended cluster")
        executor = StepExecutor(run, site, Journal(run.journal_file), "17")
        order = TaskOrder(argv=("true",))
        executor.run(Batch(trial, "windows", {folder: order}, 1, lambda _: None))
        return folder, exits.read_text().split() if exits.exists() else []

    return start


def test_while_the_controller_is_away_a_task_is_not_seen_as_failed(started, pauses):
    folder, seen = started(SRUN)
    assert seen == ["none", "none"]
    assert pauses == [2]
    task = read_task(folder)
    assert task.launch is not None


def test_a_controller_that_stays_away_fails_the_task_in_its_own_words(started, pauses):
    folder, _ = started(ALWAYS_AWAY)
    assert sum(pauses) == 302
    task = read_task(folder)
    assert task.state == "failed"
    assert "Unable to contact slurm controller" in task.error.message
