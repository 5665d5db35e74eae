"""The launcher in jobs of a real cluster: nodes, jobs, ranks, prepared inputs, requeued jobs."""

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscale.executors.clock import telling_time
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    NODE_FILE,
    ORDER_FILE,
    NodeWork,
    TaskOrder,
)
from pyscale.store.taskfiles import has_ended, read_node
from trials import error_of, launched

ENDLESS = "import signal; print('ready', flush=True); signal.pause()"
WAITS_FOR_GO = "open('../go').close()"
"""Opening this end of the pipe waits until the test opens the other."""
ARRAY = """\
#!/bin/sh
{through} {python} -c "from pyscale.executors.launch import launch
launch('{trial}/w$SLURM_ARRAY_TASK_ID')"
"""
# A node that is busy need not give up asking for the time as soon as one of a run does.
PATIENT = """\
#!/bin/sh
{through} {python} -c "from pyscale.executors import clock, launch
clock.LIMIT_S = clock.PATIENCE_S = 60
launch.launch('{trial}/w$SLURM_ARRAY_TASK_ID')"
"""
GANG = """\
#!/bin/sh
srun {python} -c "from pyscale.executors.launch import launch_rank
launch_rank({folders})"
"""


@pytest.fixture
def order(trial):
    """Order a Python program as each of some tasks; return their folders."""

    def write(tasks, program, **options):
        folders = [trial / f"w{task}" for task in range(tasks)]
        for folder in folders:
            folder.mkdir()
            task = TaskOrder(
                token=folder.name,
                submit_utc=datetime.now(UTC),
                argv=(sys.executable, "-c", program),
                **options,
            )
            (folder / ORDER_FILE).write_text(task.model_dump_json())
        return folders

    return write


@pytest.fixture
def submit(slurm, tmp_path):
    def call(text, *options, **words):
        script = tmp_path / "job.sh"
        script.write_text(text.format(python=sys.executable, **words))
        return slurm.submit(f"--output={tmp_path}/log-%A-%a", *options, script)

    return call


def by_node(folders):
    records = [launched(folder) for folder in folders]
    return {
        node: [each for each in records if each.node == node]
        for node in sorted({each.node for each in records})
    }


def test_inputs_are_prepared_once_on_each_node_before_its_first_task(
    slurm, trial, tmp_path, order, submit
):
    movie = tmp_path / "frames.tif"
    movie.write_bytes(os.urandom(1 << 20))
    os.mkfifo(trial / "go")
    folders = order(
        4, WAITS_FOR_GO, node_work=NodeWork(folder=trial, cache="cold", inputs=(movie,))
    )
    job = submit(ARRAY, "--array=0-3", "--cpus-per-task=2", through="exec", trial=trial)
    slurm.wait_for(
        lambda: all((folder / LAUNCH_FILE).exists() for folder in folders), "all tasks ran at once"
    )
    with (trial / "go").open("w"):
        assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    assert [launched(folder).job_id for folder in folders] == [f"{job}_{task}" for task in range(4)]
    tasks = by_node(folders)
    assert {node: len(records) for node, records in tasks.items()} == {"n1": 2, "n2": 2}
    for node, records in tasks.items():
        found = read_node(trial, node)
        assert found.cache.state == "verified-cold"
        assert [eviction.node for eviction in found.cache.evictions] == [node]
        assert found.surroundings.start.node == node
        # Written once, and not again after the first task had started.
        written_s = (trial / NODE_FILE.format(node=node)).stat().st_mtime
        assert written_s <= min(record.spawn_utc for record in records).timestamp()
    assert all(has_ended(folder) for folder in folders)


@pytest.mark.slow
def test_a_job_that_slurm_starts_again_says_so_and_runs_nothing(slurm, order, submit, trial):
    (folder,) = order(1, ENDLESS)
    job = submit(ARRAY, "--array=0", "--requeue", "--nodelist=n2", through="", trial=trial)
    said = folder / "stdout"
    slurm.wait_for(lambda: said.exists() and said.read_text() == "ready\n", "the task ran")
    slurm.wait_for((folder / LAUNCH_FILE).exists, "its launch was recorded")
    first = launched(folder)
    slurm.run("scontrol", "requeue", f"{job}_0")
    slurm.wait_for(lambda: slurm.job(job)[0]["Restarts"] == "1", "the job was requeued")
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    assert launched(folder) == first
    error = error_of(folder)
    assert error.kind == "Requeued"
    assert "begun on n2" in error.message


def test_each_rank_of_a_gang_runs_its_own_task(slurm, trial, order, submit):
    folders = order(3, "import os; print(os.environ['SLURM_PROCID'])")
    names = [str(folder) for folder in folders]
    job = submit(
        GANG, "--ntasks=3", "--nodes=2", "--ntasks-per-node=2", "--no-requeue", folders=names
    )
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    assert [(folder / "stdout").read_text() for folder in folders] == ["0\n", "1\n", "2\n"]
    assert set(by_node(folders)) == {"n1", "n2"}
    assert {launched(folder).job_id for folder in folders} == {job}
    assert all((folder / EXIT_FILE).exists() for folder in folders)


def test_a_cancelled_job_takes_its_task_with_it(slurm, order, submit, trial):
    (folder,) = order(1, ENDLESS)
    job = submit(ARRAY, "--array=0", "--nodelist=n1", through="", trial=trial)
    slurm.wait_for((folder / LAUNCH_FILE).exists, "the task ran")
    slurm.run("scancel", f"{job}_0")
    assert slurm.wait_for_jobs(job) == {job: {"CANCELLED"}}
    pid = launched(folder).pid
    slurm.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the task's process was gone")


def test_a_node_whose_clock_is_ahead_is_found_out(slurm, missing, order, submit, trial):
    program = shutil.which("faketime")
    if program is None:
        missing("faketime", "install faketime (Debian's name)")
    with telling_time() as clock:
        (folder,) = order(1, "pass", clock=clock)
        through = f"{program} -f +3s"
        job = submit(PATIENT, "--array=0", "--nodelist=n1", through=through, trial=trial)
        assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    found = launched(folder).clock
    assert abs(found.offset_s - 3) <= found.error_s
