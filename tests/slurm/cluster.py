"""A real Slurm cluster on this machine: several nodes, pretended cores, everything in one folder.

munged, slurmctld, one slurmd a node and slurmdbd on MariaDB run as children of the tests, with a
key, ports and files of their own, so that no other Slurm here is touched. The kernel ends them when
the tests die; what jobs leave behind then is cleared by the next cluster that starts.
"""

import getpass
import os
import secrets
import shutil
import subprocess
from contextlib import contextmanager

from pyscale.slurm.queue import ENDED
from slurm import accounting
from slurm.accounting import Accounting
from slurm.configuration import CONFIG_FILE, THREADED, set_option, write_configuration
from slurm.daemons import DEADLINE_S, Daemons, listens
from slurm.leftovers import clear_leftovers, end, owned_folder, running_jobs

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo", "squeue", "scancel")
NODES = ("n1", "n2")


def absent_programs():
    """Names of the programs that a cluster needs and this machine has not."""
    programs = (*PROGRAMS, *accounting.PROGRAMS)
    return [program for program in programs if shutil.which(program) is None]


@contextmanager
def running_cluster():
    """A cluster that answers; it is gone after the block, with all that ran on it."""
    clear_leftovers()
    with owned_folder() as folder:
        cluster = SlurmCluster(folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
            shutil.rmtree(folder)


class SlurmCluster:
    """A cluster in an empty folder, whose path is short enough for a socket.

    Ended jobs go into a database, so that `sacct` answers.
    """

    def __init__(self, folder):
        self.folder = folder
        self.nodes = NODES
        self.config_file = folder / CONFIG_FILE
        self._daemons = Daemons(folder, self.environment)
        self._accounting = Accounting(self._daemons, self.run)

    @property
    def environment(self):
        """What a client of this cluster needs beside its own environment."""
        return {"SLURM_CONF": str(self.config_file)}

    def start(self):
        """Start every daemon and wait until all nodes are idle."""
        write_configuration(self.folder, self.nodes)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        self._daemons.start("munged", ["munged", "--foreground", "--force", *options])
        self.wait_for(lambda: listens(self.folder / "munge.socket"), "munged listened")
        self._accounting.start()
        self.heal()

    def stop(self):
        self._daemons.kill_all()
        end(self.folder)

    def heal(self):
        """Bring the cluster back to its first state: an empty queue, every node idle."""
        if "slurmdbd" not in self._daemons:
            self._accounting.start_slurmdbd()
        if "slurmctld" not in self._daemons:
            self.start_slurmctld()
        every_node = (*self.nodes, THREADED)
        for node in every_node:
            if f"slurmd {node}" not in self._daemons:
                self._start_slurmd(node)
        self.wait_for(self._is_cleared, "the queue was empty")
        for node in every_node:
            self._wait_until_free(node)

    def _is_cleared(self):
        """Cancel what is queued; a command that was killed may have submitted just now."""
        self.run("scancel", "--user", getpass.getuser(), check=False)
        return self.has_no_job()

    def _wait_until_free(self, node):
        def is_free():
            told = self._node(node)
            state = told.get("State", "").lower()
            if {"down", "drain"} & set(state.split("+")):
                # Refused while a node that was just started is not yet heard of.
                self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
            # The controller may not have noticed that a node was away, and calls it idle.
            return state == "idle" and listens(int(told["Port"]))

        self.wait_for(is_free, f"{node} was free")

    def start_slurmctld(self):
        """Start the controller with what it saved when it was stopped, and wait for its answer."""
        self._daemons.start("slurmctld", ["slurmctld", "-D"])
        self.wait_for(lambda: "UP" in self.say("scontrol", "ping"), "slurmctld answered")

    def stop_slurmctld(self):
        """Stop the controller; jobs run on, and clients get no answer."""
        self._daemons.stop("slurmctld")

    def restart_slurmctld(self):
        """Stop the controller and start it again: no job is lost."""
        self.stop_slurmctld()
        self.start_slurmctld()

    def stop_slurmdbd(self):
        """Stop the keeper of the accounts: `sacct` fails, jobs run on."""
        self._daemons.stop("slurmdbd")

    @contextmanager
    def forgetting_ended_jobs(self):
        """Let the controller forget a job soon after its end, not after five minutes."""
        before = set_option(self.folder, "MinJobAge", 2)
        self.restart_slurmctld()
        try:
            yield
        finally:
            set_option(self.folder, "MinJobAge", before)
            self.restart_slurmctld()

    def _start_slurmd(self, node):
        self._daemons.start(f"slurmd {node}", ["slurmd", "-D", "-N", node])

    def kill_slurmd(self, node):
        """Kill the slurmd of a node; the jobs on the node run on."""
        self._daemons.kill(f"slurmd {node}")

    def kill_node(self, node):
        """Kill the slurmd of a node and every job on it, as a power cut does."""
        self.kill_slurmd(node)
        end(self.folder, node)

    def preempt(self, node):
        self.submit(
            "--partition=urgent",
            f"--nodelist={node}",
            "--exclusive",
            "--output=/dev/null",
            "--wrap=true",
        )

    def requeue(self, job_id):
        """Put a job back into the queue, although it asked not to be."""
        self.run("scontrol", "update", f"JobId={job_id}", "Requeue=1")
        self.run("scontrol", "requeue", job_id)

    def cancel_steps(self):
        """Cancel what runs in jobs by srun."""
        steps = self.say("squeue", "--steps", "--noheader", "--format=%i").split()
        numbered = (step for step in steps if step.rpartition(".")[2].isdigit())
        # One may end between the two, which scancel takes for an error.
        self.run("scancel", *numbered, check=False)

    def drain(self, node):
        """Let a node take no further jobs."""
        self.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")

    def wait_until_heard(self, node):
        """Wait until a controller that was started again has heard of a node."""
        self.wait_for(
            lambda: self._node(node).get("SlurmdStartTime", "None") != "None",
            f"{node} was heard of",
        )

    def _node(self, node):
        words = self.say("scontrol", "--oneliner", "show", "node", node).split()
        return dict(_pair(word) for word in words)

    def has_no_job(self):
        """Whether the controller answers that every job has ended."""
        answer = self.run("squeue", "--noheader", check=False)
        return answer.returncode == 0 and answer.stdout == ""

    def known_jobs(self):
        """Ids of all jobs that the controller knows, also of those that ended some minutes ago."""
        return set(self.run("squeue", "--noheader", "--states=all", "--format=%i").stdout.split())

    def submit(self, *arguments):
        return self.run("sbatch", "--parsable", *arguments).stdout.strip()

    def job(self, job_id):
        """What Slurm knows of a job, one mapping for each task of an array."""
        lines = self.say("scontrol", "--oneliner", "show", "job", job_id).splitlines()
        return [dict(_pair(word) for word in line.split()) for line in lines]

    def is_forgotten(self, job_id):
        """Whether the controller answers that it does not know a job."""
        answer = self.run("scontrol", "show", "job", job_id, check=False)
        return "Invalid job id" in answer.stderr

    def wait_until_running(self, *job_ids):
        """Wait until every task of jobs runs."""

        def run():
            tasks = [self.job(job_id) for job_id in job_ids]
            states = {task["JobState"] for each in tasks for task in each}
            ids = {task["JobId"] for each in tasks for task in each}
            # The controller calls a job running before its node has begun it.
            return all(tasks) and states == {"RUNNING"} and ids <= running_jobs()

        self.wait_for(run, f"the jobs {', '.join(job_ids)} ran")

    def wait_for_jobs(self, *job_ids, deadline_s=DEADLINE_S):
        """Wait until jobs have ended; return the states in which their tasks ended."""
        states = {}

        def ended():
            states.update({i: {task["JobState"] for task in self.job(i)} for i in job_ids})
            return all(each and each <= ENDED for each in states.values())

        self.wait_for(ended, f"the jobs {', '.join(job_ids)} had ended", deadline_s=deadline_s)
        return states

    def wait_for(self, condition, what, *, deadline_s=DEADLINE_S):
        """Ask until a condition holds; raises as `Daemons.wait_for` does."""
        self._daemons.wait_for(condition, what, deadline_s=deadline_s)

    def end_time_of(self, job_id):
        """Let a running job reach its time limit now; Slurm sees it within half a minute."""
        self.run("scontrol", "update", f"JobId={job_id}", "EndTime=now+1")

    def say(self, *command):
        """Run a client; return its answer, empty where the controller does not answer yet."""
        return self.run(*command, check=False).stdout.strip()

    def run(self, *command, check=True, deadline_s=DEADLINE_S):
        done = subprocess.run(
            [str(word) for word in command],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=deadline_s,
        )
        assert not check or done.returncode == 0, f"{command[0]}: {done.stderr}"
        return done


def _pair(word):
    key, _, value = word.partition("=")
    return key, value
