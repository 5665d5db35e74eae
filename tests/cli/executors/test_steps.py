import os

import pytest

from programs import put_program
from pyscale.executors.protocol import Batch
from pyscale.executors.steps import Step, StepExecutor
from pyscale.planning.sites import Site
from pyscale.slurm import commands
from pyscale.store.journal import Journal
from pyscale.store.records import Requested, TaskOrder
from pyscale.store.taskfiles import read_task
from refusals import assert_said

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


ASKED = Requested(cpus=1, memory_bytes=2**30, time_limit_s=600, gpus=0)
OF_STEP = "slurmstepd-n1: error: *** STEP 17.4 ON n1 CANCELLED AT 2026-11-23T06:24:16"


def log(tmp_path, *lines):
    path = tmp_path / "step.srun"
    path.write_text("\n".join(lines) + "\n")
    return Step(None, path, "17", ASKED)


KILLED = (
    "Detected 1 oom-kill event(s) in StepId=17.4. Some of your processes may have been killed by "
    "the cgroup out-of-memory handler."
)
NO_STEP = "Unable to create step for job 17: "
TOO_MANY = "More processors requested than permitted"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (f"slurmstepd-n1: error: {KILLED}", "OutOfMemory"),
        (
            "slurmstepd-n1: error: StepId=17.4 exceeded memory limit (2000 > 1000), being killed",
            "OutOfMemory",
        ),
        (f"{OF_STEP} DUE TO TIME LIMIT ***", "TimeLimit"),
        (f"{OF_STEP} DUE TO NODE FAILURE ***", "NodeFail"),
        (f"{OF_STEP} ***", "Cancelled"),
        (f"srun: error: {NO_STEP}{TOO_MANY}", "Failed"),
        ("", "Failed"),
    ],
    ids=range(7),
)
def test_the_cause_is_named(tmp_path, said, kind):
    cause = log(tmp_path, said).cause(tmp_path)
    assert cause.kind == kind
    assert_said(cause.message)
