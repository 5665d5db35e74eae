"""Tasks on this machine, by submitit's local executor."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from pyscale.executors.launch import launch
from pyscale.executors.protocol import Job

NO_TIMEOUT_MIN = 60 * 24 * 365
SUBMITIT_MODULES = ("submitit.local._local", "submitit.core._submit")


class LocalJob:
    """One task on this machine; the job is the process that submitit started for it."""

    def __init__(self, job: Any) -> None:
        self._job = job

    @property
    def id(self) -> str:
        """Process id of submitit's controller."""
        return str(self._job.job_id)

    def is_alive(self) -> bool:
        """Whether the controller still runs."""
        return bool(self._job.state == "RUNNING")

    def cancel(self) -> None:
        """End the controller, and with it the launcher and the task."""
        _end_trees([int(self.id)])


class LocalExecutor:
    """Starts tasks as processes of this machine.

    Parameters
    ----------
    submissions : Path
        Folder for submitit's own files.
    """

    def __init__(self, submissions: Path) -> None:
        self._submissions = submissions

    def submit(self, folders: Sequence[Path]) -> list[Job]:
        """Start one process chain for each task folder."""
        import submitit

        executor = submitit.LocalExecutor(self._submissions)
        executor.update_parameters(timeout_min=NO_TIMEOUT_MIN)
        with _deaf_to_interrupts():
            return [LocalJob(executor.submit(launch, str(folder))) for folder in folders]

    def end_leftovers(self) -> int:
        """End the processes whose command line names this run's submission folder."""
        return _end_trees(
            [
                process.pid
                for process in psutil.process_iter(["cmdline"])
                if _is_submission(process.info["cmdline"] or [], self._submissions)
            ]
        )


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that a Ctrl-C on the terminal does not reach.

    The terminal sends it to every process of the foreground, and each would end in its own
    words. A blocked signal is inherited; here it only waits until the block is left, and
    pyscale then ends its tasks itself.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_submission(command_line: Sequence[str], submissions: Path) -> bool:
    return str(submissions) in command_line and any(
        module in command_line for module in SUBMITIT_MODULES
    )


def _end_trees(pids: Sequence[int]) -> int:
    """Kill processes with all their descendants and wait until they are gone."""
    family: set[psutil.Process] = set()
    for pid in pids:
        try:
            process = psutil.Process(pid)
            family |= {process, *process.children(recursive=True)}
        except psutil.NoSuchProcess:
            continue
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(list(family))
    return len(family)
