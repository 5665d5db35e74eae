"""`pyscale run` on the tests' cluster, with faults that strike when a task is in its middle."""

import io
import json
import os
import re
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from unittest.mock import patch

import psutil
import pytest

from forked import OF_COMMANDS, Forked
from heldtasks import NO_FIGURES
from pyscale import app
from pyscale.slurm.queue import job_name, jobs_named
from pyscale.store.allocations import is_followed, read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import read_task
from trials import launched

SITE = """\
name = "tests"
summary = "the cluster of the tests"

[request]
options = {options}
cpus = 1
memory_gib = {memory_gib}
time_min = {time_min}
"""
PATIENCE_S = 500.0
"""How long a command may take on a machine that has other work too: less than a test may."""
CONTENT = b"what each worker copies\n"
STEP = ("--step", "cp {input} {output}", "--split", "none", "--output", "copy.txt")
"""The step of most runs, each of whose tasks copies a file: nothing is imported for it."""
# Python runs this at its start. A task is to be held, not raced with.
STOP_WHERE_ASKED = """\
import os, signal, sys
if "pyscale_stages" in sys.orig_argv:
    if os.path.exists(os.path.join({folder!r}, os.path.basename(os.getcwd()))):
        os.kill(os.getpid(), signal.SIGSTOP)
"""


def submit_scripts(slurm, folder):
    said = slurm.run(folder / "submit.sh").stdout
    return dict(re.findall(r"^(\S+): job (\d+)$", said, re.MULTILINE))


def complete_scripts(slurm, folder):
    """Submit a folder's emitted scripts, and wait until all have completed; return their names."""
    jobs = submit_scripts(slurm, folder)
    ended = slurm.wait_for_jobs(*jobs.values())
    logs = {log.name: log.read_text() for log in folder.glob("*/logs/*.log")}
    assert ended == {job: {"COMPLETED"} for job in jobs.values()}, logs
    return list(jobs)


def say(*words):
    """Run a command that succeeds, in this process; return what it said on stdout."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["pyscale", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        app.main()
    assert not end.value.code, err.getvalue()
    return out.getvalue()


class ClusterRuns:
    """Runs on a cluster, in a working folder of their own; most of them copy a file."""

    def __init__(self, slurm, home):
        self.slurm = slurm
        self.home = home
        self._processes = []
        self.data = home / "data.txt"
        self.python_path = home / "python_path"
        self._to_be_held = home / "to_be_held"
        for folder in (self.python_path, self._to_be_held):
            folder.mkdir()
        self.data.write_bytes(CONTENT)
        stop = STOP_WHERE_ASKED.format(folder=str(self._to_be_held))
        (self.python_path / "sitecustomize.py").write_text(NO_FIGURES.read_text() + stop)

    def site(self, partition="cpu", memory_gib=0.25, time_min=30, more="", options=()):
        path = self.home / "site.toml"
        asked = [f"--partition={partition}", *options]
        request = SITE.format(options=asked, memory_gib=memory_gib, time_min=time_min)
        path.write_text(request + more)
        return path

    def on_cluster(self, *words, site=None):
        """The command line of a run on the cluster, of which all is kept; a trial at N = 1."""
        where = ("--executor", "slurm", "--site", site or self.site())
        return (
            "run",
            "--workers",
            "1",
            "--repeats",
            "1",
            "--set",
            "keep_outputs=all",
            *where,
            *words,
        )

    def of_step(self, *words, site=None):
        """The command line of a run of the step that copies, whose caches are left as they are."""
        return self.on_cluster(*STEP, "--data", self.data, "--cache", "asis", *words, site=site)

    def start(self, *words, site=None):
        """Start a run of the step that copies, as a process of its own."""
        return self.command(*self.of_step(*words, site=site))

    def command(self, *words):
        process = Forked(["-m", "pyscale", *words], dict(os.environ), OF_COMMANDS)
        self._processes.append(process)
        return process

    def say(self, *words):
        """Run a command that succeeds, in this process; return what it said on stdout."""
        return say(*words)

    def status(self):
        return json.loads(self.say("status", "--json"))

    def end(self):
        for process in self._processes:
            if process.poll() is None:
                # With a command of Slurm that it may have started.
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE_S)

    @property
    def run(self):
        """The only run in the working folder, or where runs were told to go."""
        (plan,) = self._plans()
        return RunFolder(plan.parent)

    def _plans(self):
        folder = self.home / os.environ.get("PYSCALE_RUNS_FOLDER", "runs")
        return [*folder.glob("*/plan.json")]

    @property
    def trial(self):
        """Folder of the first trial of the only run."""
        return self.run.trial(self.run.plan.trials[0])

    @property
    def jobs(self):
        """Ids of the jobs that have held nodes for the run, in their order."""
        return read_allocations(self.run.path).job_ids

    @property
    def is_followed(self):
        return is_followed(self.run.path)

    def hold(self, *tasks):
        """Let processes of tasks that begin from now on stand still at their start."""
        for task in tasks:
            (self._to_be_held / task).touch()

    def _standing(self, process, task):
        """Wait until a task's process stands still; return its launch and the process."""
        found = []

        def stands():
            assert process.poll() in {None, 0}, process.communicate()
            if not self._plans():
                return False
            with suppress(FileNotFoundError, psutil.NoSuchProcess):
                launch = launched(self.trial / task)
                held = psutil.Process(launch.pid)
                if held.status() == psutil.STATUS_STOPPED:
                    found[:] = [(launch, held)]
            return bool(found)

        self.slurm.wait_for(stands, f"{task} stood still")
        return found[0]

    @contextmanager
    def in_its_middle(self, process, *tasks):
        """Hold the processes of tasks where they are while the block runs.

        Call it before pyscale has begun them: at their start they look whether they are to stop.
        """
        self.hold(*tasks)
        held = []
        try:
            held.extend(self._standing(process, task) for task in tasks)
            for task in tasks:
                # Another attempt is not held.
                (self._to_be_held / task).unlink()
            yield [launch for launch, _ in held]
        finally:
            for _, each in held:
                with suppress(psutil.NoSuchProcess):
                    each.resume()

    def kill(self, process):
        """Kill a command as `kill -9` does."""
        process.kill()
        process.communicate()

    def resume(self):
        return self.command("resume", self.run.path.name)

    def pilots(self):
        """Processes that work off the run inside its job: one, or none."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if "submitit.core._submit" in (process.info["cmdline"] or ())
            and any(str(self.run.path) in word for word in process.info["cmdline"])
        ]

    def living_jobs(self):
        jobs = jobs_named(job_name(self.run.plan.run_id))
        return [job_id for job_id, job in jobs.items() if job.alive]

    def events(self, *kinds):
        """Events of the only run, of some kinds or all; none where there is no run yet."""
        if not self._plans():
            return []
        found = Journal(self.run.journal_file).read()
        return [event for event in found if not kinds or event.kind in kinds]

    def wait_for_event(self, kind, count=1):
        self.slurm.wait_for(lambda: len(self.events(kind)) >= count, f"{count} of {kind}")

    def finished(self, process):
        """Wait until a command has ended; return its exit code and what it said on stderr."""
        _, said = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in said
        return process.returncode, said

    def completed(self, process):
        """Wait until a command has succeeded; every task of the run is done then."""
        code, said = self.finished(process)
        assert code == 0, said
        assert set(self.states().values()) == {"done"}

    def copied(self, process, *, jobs):
        """Wait until a run of the step that copies is whole, after so many jobs."""
        self.completed(process)
        assert len(self.jobs) == jobs
        self.assert_copied()

    def assert_copied(self):
        """See that nothing is lost and nothing is doubled."""
        plan = self.run.plan
        for trial in plan.trials:
            assert (self.run.output(trial) / "copy.txt").read_bytes() == CONTENT
        finished = [str(event.trial) for event in self.events("trial_finished")]
        assert sorted(finished) == sorted(trial.id for trial in plan.trials)
        assert self.living_jobs() == []

    def states(self):
        run = self.run
        return {
            f"{trial.id}/{task}": read_task(run.task(trial, task)).state
            for trial in run.plan.trials
            for task in trial.tasks
        }

    def set_aside(self):
        """Names of the attempts that did not become the trial."""
        return sorted(f.name for f in (self.run.path / "tasks").iterdir() if "." in f.name)
