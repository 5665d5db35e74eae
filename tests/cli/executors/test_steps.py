import os

from programs import put_program
from pyscale.executors.protocol import Batch
from pyscale.executors.steps import StepExecutor
from pyscale.planning.sites import Site
from pyscale.slurm import commands
from pyscale.store.journal import Journal
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import read_task

ALWAYS_AWAY = "echo 'srun: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


def test_a_controller_that_stays_away_fails_the_task_in_its_own_words(run, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(commands, "wait", pauses.append)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    put_program(tmp_path / "bin", "srun", ALWAYS_AWAY)
    put_program(tmp_path / "bin", "squeue", "echo RUNNING")
    trial = run.plan.trial("contact-n1-b1")
    folder = run.task(trial, "w0")
    folder.mkdir(parents=True)
    site = Site(name="here", summary="a pretended cluster")
    executor = StepExecutor(run, site, Journal(run.journal_file), "17")
    order = TaskOrder(argv=("true",))
    executor.run(Batch(trial, "windows", {folder: order}, 1, lambda _: None))
    assert sum(pauses) == 302
    task = read_task(folder)
    assert task.state == "failed"
    assert "Unable to contact slurm controller" in task.error.message
