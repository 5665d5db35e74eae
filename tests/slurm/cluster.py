"""A real Slurm cluster on this machine: several nodes, pretended cores, everything in one folder.

munged, slurmctld and one slurmd a node run as children of the tests, with a key, ports and files
of their own, so that no other Slurm here is touched. The kernel ends them when the tests die; what
jobs leave behind then is cleared by the next cluster that starts.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slurm.configuration import CONFIG_FILE, write_configuration
from slurm.leftovers import clear_leftovers, end, end_with_parent, new_folder, processes_of

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo", "squeue", "scancel")
NODES = ("n1", "n2")
DEADLINE_S = 60.0
POLL_S = 0.05
ENDED = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "TIMEOUT",
    ]
)


def absent_programs() -> list[str]:
    """Names of the programs that a cluster needs and this machine has not."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextmanager
def running_cluster() -> Iterator[SlurmCluster]:
    """A cluster that answers; it is gone after the block, with all that ran on it."""
    clear_leftovers()
    folder = new_folder()
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder)


class SlurmCluster:
    """A cluster in a folder of its own.

    Parameters
    ----------
    folder : Path
        An empty folder, whose path is short enough for a socket.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = NODES
        self.config_file = folder / CONFIG_FILE
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """What a client of this cluster needs beside its own environment."""
        return {"SLURM_CONF": str(self.config_file)}

    def start(self) -> None:
        """Start every daemon and wait until all nodes are idle."""
        write_configuration(self.folder, self.nodes)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        self._spawn("munged", ["munged", "--foreground", "--force", *options])
        self.wait_for((self.folder / "munge.socket").is_socket, "munged opened its socket")
        self._spawn("slurmctld", ["slurmctld", "-D", "-c"])
        self.wait_for(lambda: "UP" in self.say("scontrol", "ping"), "slurmctld answered")
        for node in self.nodes:
            self.start_node(node)
        self.heal()

    def stop(self) -> None:
        """End every process of the cluster and of its jobs."""
        for name in reversed(list(self._daemons)):
            self._daemons[name].kill()
        for daemon in self._daemons.values():
            daemon.wait()
        self._daemons.clear()
        end(processes_of(self.folder))

    def heal(self) -> None:
        """Bring the cluster back to its first state: an empty queue, every node idle."""
        self.run("scancel", "--user", getpass.getuser())
        for node in self.nodes:
            if f"slurmd {node}" not in self._daemons:
                self.start_node(node)
            if self.node_state(node) not in {"idle", "allocated", "mixed", "completing"}:
                # Refused while a node that was just started is not yet heard of, and needed
                # only where it was drained or set down before.
                self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
        self.wait_for(lambda: not self.say("squeue", "--noheader"), "the queue was empty")
        for node in self.nodes:
            self.wait_for_node(node, "idle")

    def start_node(self, node: str, *through: str) -> None:
        """Start the slurmd of a node, `through` a command that changes what it and its jobs see."""
        self._spawn(f"slurmd {node}", [*through, "slurmd", "-D", "-N", node])

    def kill_slurmd(self, node: str) -> None:
        """Kill the slurmd of a node; the jobs on the node run on."""
        daemon = self._daemons.pop(f"slurmd {node}")
        daemon.kill()
        daemon.wait()

    def kill_node(self, node: str) -> None:
        """Kill the slurmd of a node and every job on it, as a power cut does."""
        self.kill_slurmd(node)
        end(processes_of(self.folder / node))

    def drain(self, node: str) -> None:
        """Let a node take no further jobs."""
        self.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")

    def node_state(self, node: str) -> str:
        """State of a node in Slurm's word, like `idle`, without its mark for no answer."""
        return (
            self.say("sinfo", "--noheader", "--nodes", node, "--format=%T").split()[0].rstrip("*")
        )

    def wait_for_node(self, node: str, state: str) -> None:
        """Wait until a node is in a state."""
        self.wait_for(lambda: self.node_state(node) == state, f"{node} was {state}")

    def submit(self, *arguments: object) -> str:
        """Call sbatch; return the id of the job."""
        return self.say("sbatch", "--parsable", *arguments)

    def job(self, job_id: str) -> list[dict[str, str]]:
        """What Slurm knows of a job, one mapping for each task of an array."""
        lines = self.say("scontrol", "--oneliner", "show", "job", job_id).splitlines()
        return [dict(_pair(word) for word in line.split()) for line in lines]

    def wait_for_jobs(self, *job_ids: str, deadline_s: float = DEADLINE_S) -> dict[str, set[str]]:
        """Wait until jobs have ended; return the states in which their tasks ended."""
        states: dict[str, set[str]] = {}

        def ended() -> bool:
            states.update({i: {task["JobState"] for task in self.job(i)} for i in job_ids})
            return set().union(*states.values()) <= ENDED

        self.wait_for(ended, f"the jobs {', '.join(job_ids)} had ended", deadline_s=deadline_s)
        return states

    def wait_for(
        self, condition: Callable[[], bool], what: str, *, deadline_s: float = DEADLINE_S
    ) -> None:
        """Ask until a condition holds.

        Raises
        ------
        TimeoutError
            If it does not by the deadline.
        RuntimeError
            If a daemon ended meanwhile: nothing is to be expected then.
        """
        deadline = time.monotonic() + deadline_s
        while not condition():
            for name, daemon in self._daemons.items():
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} ended:\n{self.log(name)}")
            if time.monotonic() > deadline:
                logs = "\n".join(f"{name}:\n{self.log(name)}" for name in self._daemons)
                raise TimeoutError(f"not in {deadline_s:.0f} s: {what}\n{logs}")
            time.sleep(POLL_S)

    def log(self, daemon: str, lines: int = 15) -> str:
        """Return the last lines that a daemon said; `slurmctld`, `munged`, `slurmd n1` …."""
        text = self._log_file(daemon).read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def say(self, *command: object) -> str:
        """Run a client; return its answer, empty where the controller does not answer yet."""
        return self.run(*command, check=False).stdout.strip()

    def run(self, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a client of this cluster."""
        return subprocess.run(
            [str(word) for word in command],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=check,
            timeout=DEADLINE_S,
        )

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        with self._log_file(name).open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the tests, which end the daemons themselves.
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - no other thread runs here
            )

    def _log_file(self, daemon: str) -> Path:
        return self.folder / f"{daemon.replace(' ', '-')}.said"


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value
