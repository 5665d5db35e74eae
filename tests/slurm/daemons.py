"""The daemons of a cluster: each has a name, says what it says into a file, and dies with us."""

import os
import socket
import subprocess
import time

from slurm.leftovers import end_with_parent

DEADLINE_S = 300.0
"""How long is waited for what takes a second, on a machine that has other work too."""
POLL_S = 0.05
MOST_POLL_S = 0.5
"""Each look starts clients of Slurm, which take the time of what is waited for."""


def listens(address):
    """Whether something takes connections at a socket's path, or at a port of this machine."""
    is_port = isinstance(address, int)
    family = socket.AF_INET if is_port else socket.AF_UNIX
    where = ("127.0.0.1", address) if is_port else str(address)
    with socket.socket(family) as client:
        return client.connect_ex(where) == 0


class Daemons:
    """Children of this process that work in the folder of a cluster, with its environment."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment
        self._running = {}

    def __contains__(self, name):
        return name in self._running

    def start(self, name, command, **environment):
        """Start one; `environment` is for it alone."""
        with self._log_file(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | dict(self.environment) | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the tests, which end the daemons themselves.
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - no other thread runs here
            )

    def stop(self, name):
        """Ask one to end, so that it saves what it knows, and wait until it has."""
        daemon = self._running.pop(name)
        daemon.terminate()
        daemon.wait(DEADLINE_S)

    def kill(self, name):
        """End one as a crash does."""
        daemon = self._running.pop(name)
        daemon.kill()
        daemon.wait()

    def kill_all(self):
        for name in reversed(list(self._running)):
            self.kill(name)

    def wait_for(self, condition, what, *, deadline_s=DEADLINE_S):
        """Ask until a condition holds; a daemon that ended meanwhile is an error at once."""
        deadline, poll_s = time.monotonic() + deadline_s, POLL_S
        while not condition():
            for name, daemon in self._running.items():
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} ended:\n{self.log(name)}")
            if time.monotonic() > deadline:
                logs = "\n".join(f"{name}:\n{self.log(name)}" for name in self._running)
                raise TimeoutError(f"not in {deadline_s:.0f} s: {what}\n{logs}")
            time.sleep(poll_s)
            poll_s = min(1.2 * poll_s, MOST_POLL_S)

    def log(self, name, lines=15):
        """The last lines that one said; `slurmctld`, `munged`, `slurmd n1` …."""
        text = self._log_file(name).read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _log_file(self, name):
        return self.folder / f"{name.replace(' ', '-')}.said"
