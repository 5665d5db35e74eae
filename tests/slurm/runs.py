"""`pyscale run` on the tests' cluster, with faults that strike when a task is in its middle."""

import io
import os
import re
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from forked import OF_COMMANDS, Forked
from heldtasks import NO_FIGURES
from movingsquares import write_moving_squares
from pyscale import app
from pyscale.slurm.queue import job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.records import LAUNCH_FILE
from pyscale.store.taskfiles import read_jobs, read_task
from trials import launched

SITE = """\
name = "tests"
summary = "the cluster of the tests"

[request]
partition = "{partition}"
cpus = 1
memory_gib = {memory_gib}
time_min = 30
"""
PATIENCE_S = 500.0
"""How long a command may take on a machine that has other work too: less than a test may."""
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


class ClusterRuns:
    """Runs of a small suite on a cluster, in a working folder of their own."""

    def __init__(self, slurm, home):
        self.slurm = slurm
        self.home = home
        self._processes = []
        self.movie = write_moving_squares(home / "labels.ome.tif")
        self.python_path = home / "python_path"
        self._to_be_held = home / "to_be_held"
        for folder in (self.python_path, self._to_be_held):
            folder.mkdir()
        stop = STOP_WHERE_ASKED.format(folder=str(self._to_be_held))
        (self.python_path / "sitecustomize.py").write_text(NO_FIGURES.read_text() + stop)

    def site(self, partition="cpu", memory_gib=1.0, more=""):
        path = self.home / f"{partition}.toml"
        path.write_text(SITE.format(partition=partition, memory_gib=memory_gib) + more)
        return path

    def start(self, *arguments, site=None):
        """Start a run of contacts at N = 2 as a process of its own."""
        where = ("--executor", "slurm", "--site", site or self.site())
        return self.command(*self.contacts("--keep-outputs", "all", *where, *arguments))

    def contacts(self, *arguments):
        """The command line of a run of contacts, once at N = 2 where no argument says otherwise."""
        words = ("run", "labels", "--data", self.movie, "--only", "contact", "--workers", "2")
        return (*words, "--repeats", "1", *arguments)

    def detach(self):
        where = ("--executor", "slurm", "--site", self.site())
        return self.say(*self.contacts(*where, "--detach")).strip()

    def command(self, *arguments):
        process = Forked(["-m", "pyscale", *arguments], dict(os.environ), OF_COMMANDS)
        self._processes.append(process)
        return process

    def say(self, *arguments):
        """Run a command that succeeds, in this process; return what it said on stdout."""
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(sys, "argv", ["pyscale", *map(str, arguments)]),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            app.main()
        assert not end.value.code, err.getvalue()
        return out.getvalue()

    def end(self):
        for process in self._processes:
            if process.poll() is None:
                # With a command of Slurm that it may have started.
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE_S)

    @property
    def run(self):
        """The only run in the working folder, or where runs were told to go."""
        (path,) = Path(os.environ.get("PYSCALE_RUNS_FOLDER", self.home / "runs")).iterdir()
        return RunFolder(path)

    @property
    def trial(self):
        """Folder of the only trial of the only run."""
        (trial,) = self.run.plan.trials
        return self.run.trial(trial)

    def launched(self, process, task="w0"):
        """Wait until a task's process has been started on its node, and its job recorded."""

        def is_there():
            assert process.poll() in {None, 0}, process.communicate()
            found = any((self.home / "runs").glob(f"*/tasks/*/{task}/{LAUNCH_FILE}"))
            # The job may begin before pyscale has written down which it is.
            return found and task in read_jobs(self.trial)

        self.slurm.wait_for(is_there, f"{task} had been launched")
        return launched(self.trial / task)

    @contextmanager
    def in_its_middle(self, process, *tasks):
        """Hold the processes of tasks where they are while the block runs.

        Call it before pyscale has submitted anything: at their start they look whether they are
        to stop.
        """
        asked = [self._to_be_held / task for task in tasks]
        for file in asked:
            file.touch()
        launches, held = [], []
        try:
            for task in tasks:
                launches.append(self.launched(process, task))
                held.append(psutil.Process(launches[-1].pid))
                self.slurm.wait_for(
                    lambda one=held[-1]: one.status() == psutil.STATUS_STOPPED,
                    f"{task} stood still",
                )
            for file in asked:
                # Another attempt is not held.
                file.unlink()
            yield launches
        finally:
            for each in held:
                with suppress(psutil.NoSuchProcess):
                    each.resume()

    def kill(self, process):
        """Kill a command as `kill -9` does."""
        process.kill()
        process.communicate()

    def resume(self):
        return self.command("run", "--resume", self.run.path.name)

    def job_of(self, task):
        return read_jobs(self.trial)[task]

    def living_jobs(self):
        jobs = jobs_named(job_name(self.run.plan.run_id))
        return [job_id for job_id, job in jobs.items() if job.alive]

    def events(self, *kinds):
        """Events of the only run, of some kinds or all."""
        found = Journal(self.run.journal_file).read()
        return [event for event in found if not kinds or event.kind in kinds]

    def wait_for_failure(self):
        self.slurm.wait_for(lambda: bool(self.events("trial_failed")), "a trial had failed")

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
