"""What is made of a real sacct's answer, beside what the controller says of the same jobs."""

import os
import subprocess
from collections.abc import Callable
from datetime import datetime

import polars as pl
import pytest

from pyscale import api
from pyscale.traces.command import import_traces
from pyscale.traces.sacct import COMMAND

WORK = "exec python3 -c 'held = bytes(1) * (100 << 20); import time; time.sleep({seconds})'"
# However late Slurm begins one of them, so many of an array run at once.
MEET = """\
touch begun.$SLURM_ARRAY_JOB_ID.$SLURM_ARRAY_TASK_ID
until [ $(ls begun.$SLURM_ARRAY_JOB_ID.* | wc -l) -ge {count} ]; do sleep 0.1; done
"""
Submit = Callable[..., str]


@pytest.fixture
def submit(slurm, tmp_path):
    """Submit an array of one command, as people do who never heard of pyscale."""

    def call(name, indices, command):
        script = tmp_path / f"{name}.sh"
        script.write_text(f"#!/bin/sh\n{command}\n")
        options = (
            f"--job-name={name}",
            f"--array={indices}",
            "--output=/dev/null",
            f"--chdir={tmp_path}",
            "--requeue",
        )
        return slurm.submit(*options, script)

    return call


def trace(slurm, path, *job_ids):
    """Write what sacct tells by the command that we advise, when it knows that all have ended."""

    def told():
        done = subprocess.run(
            ["bash", "-c", f"{COMMAND} --jobs={','.join(job_ids)}"],
            env=os.environ | slurm.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        path.write_text(done.stdout)
        jobs = [line.split("|") for line in done.stdout.splitlines()[1:]]
        states = {job[2] for job in jobs if "." not in job[0]}
        return started <= {job[0] for job in jobs} and not states & {"RUNNING", "PENDING"}

    # The accounts hear of an array's tasks one by one.
    started = {
        f"{job_id}_{task['ArrayTaskId']}"
        for job_id in job_ids
        for task in slurm.job(job_id)
        if task["ArrayTaskId"].isdigit()
    }

    slurm.wait_for(told, "the accounts knew of the jobs' ends")
    return path


def elapsed_s(slurm, job_id):
    return [
        (
            datetime.fromisoformat(task["EndTime"]) - datetime.fromisoformat(task["StartTime"])
        ).total_seconds()
        for task in slurm.job(job_id)
    ]


@pytest.mark.slow
def test_bare_arrays_that_ran_through_at_once_become_a_true_report(slurm, submit, tmp_path, capsys):
    # The last of them is the only one that waits for another.
    sizes = {workers: submit("segment", f"0-{workers - 1}", work(workers)) for workers in (1, 2)}
    pairs = MEET.format(count="$((SLURM_ARRAY_TASK_ID / 2 * 2 + 2))")
    held = submit("held", "0-3%2", pairs + WORK.format(seconds=2))
    fails = submit("fails", "0-1", "sleep 1; exit $SLURM_ARRAY_TASK_ID")
    slurm.wait_for_jobs(*sizes.values(), held, fails)
    held_back = "until [ -e go ]; do sleep 0.1; done\n"
    again = submit("again", "0-1", held_back + WORK.format(seconds=2))
    only_the_first_ends = "[ $SLURM_ARRAY_TASK_ID = 0 ] || exec sleep infinity"
    gone = submit("gone", "0-3%1", f"{only_the_first_ends}\n{WORK.format(seconds=1)}")
    slurm.wait_until_running(again)
    slurm.run("scontrol", "requeue", f"{again}_0")
    (tmp_path / "go").touch()
    slurm.wait_for(
        lambda: any(task["JobState"] == "COMPLETED" for task in slurm.job(gone)),
        "one of the array had completed",
    )
    slurm.run("scancel", gone)
    slurm.wait_for_jobs(again, gone)

    jobs = (*sizes.values(), held, fails, again, gone)
    table = tmp_path / "table.csv"
    import_traces("sacct", [trace(slurm, tmp_path / "sacct.txt", *jobs)], out=table)
    said = " ".join(capsys.readouterr().err.split())
    assert "left out 3 trials" in said
    assert f"fails {fails} (of 2 tasks 1 failed)" in said
    assert f"again {again} (of 2 tasks 1 tried again)" in said
    assert f"gone {gone} (of " in said

    rows = pl.read_csv(table)
    assert rows.group_by("stage").agg(pl.col("workers").unique().sort()).sort("stage").rows() == [
        ("held", [2]),
        ("segment", [1, 2]),
    ]
    assert rows.filter(stage="held")["tasks_done"].to_list() == [2, 2]
    segment = rows.filter(stage="segment")
    for workers, job_id in sizes.items():
        own = segment.filter(pl.col("workers") == workers)
        assert sorted(own["wall_s"]) == sorted(elapsed_s(slurm, job_id))
        assert set(own["trial"]) == {int(job_id)}
    # Each held 100 MiB, and asked for a core's share.
    assert segment["peak_memory_bytes"].is_between(100 << 20, 200 << 20).all()
    assert set(rows["requested_memory_bytes"]) == {2000 << 20}
    assert set(rows["cpus"]) == {1}

    api.report(table=table, out=tmp_path / "report")
    found = pl.read_csv(tmp_path / "report" / "benchmark_results_aggregated.csv")
    found = found.filter(stage="segment")
    slowest_s = [max(elapsed_s(slurm, job_id)) for job_id in sizes.values()]
    assert found["workers"].to_list() == list(sizes)
    assert found["wall_s"].to_list() == slowest_s
    expected = [slowest_s[0] / wall_s for wall_s in slowest_s]
    assert found["speedup"].to_list() == pytest.approx(expected)


def work(workers):
    """Wait for all workers, then hold memory for as long as one's share of the work takes."""
    return MEET.format(count=workers) + WORK.format(seconds=4 // workers)
