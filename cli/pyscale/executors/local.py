"""Tasks on this machine, as processes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from pyscale.errors import UserError
from pyscale.executors.containernode import left_scratch, scratch_prefix
from pyscale.executors.protocol import Batch, Executor
from pyscale.executors.waiting import Group, keep_busy
from pyscale.interruption import OF_TERMINAL, blocked
from pyscale.planning.placement import Placement
from pyscale.processes import is_task, started_for, wait_until_ended
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import write_order
from pyscale.wording import listing

CONTAINER_PROGRAMS = ("starter", "starter-suid")
CONTAINER_HELPERS = ("squashfuse", "squashfuse_ll", "fuse-overlayfs", "fuse2fs", "gocryptfs")
"""Programs that mount for a container program, and outlive one that is killed."""
TO_DIE_S = 30.0
"""How long what was killed may take to end: it waits while a filesystem does not answer."""
TO_CLEAR_UP_S = 30.0
"""Longest that a task that is ended may take to remove what it wrote: it can be gigabytes."""


class LocalJob:
    """What starts a task on this machine."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self.process = process

    @property
    def id(self) -> str:
        """Process id of its launcher."""
        return str(self.process.pid)

    def is_alive(self, folder: Path) -> bool:  # noqa: ARG002 - for those that have several tasks
        """Whether a task that it was given may still leave a record."""
        return self.process.poll() is None


class LocalExecutor(Executor):
    """Starts tasks of the run in a folder as processes of this machine.

    `placement` says which cores and GPUs each worker gets, where each has as many cores as it is
    called with.
    """

    on_this_node = True

    def __init__(self, run: Path, placement: Callable[[int], Placement]) -> None:
        self._run_folder = run
        self._placement = placement

    def run(self, batch: Batch) -> None:
        """Keep as many workers busy as the batch allows, until all its tasks have ended."""

        def start(slots: Mapping[Group, int]) -> Mapping[Path, LocalJob]:
            # Orders carry the time of submission, so all are written before the first starts.
            tokens = {
                folder: write_order(folder, self._placed(batch, batch.orders[folder], slot))
                for (folder,), slot in slots.items()
            }
            jobs = {folder: _launched(folder, token) for folder, token in tokens.items()}
            batch.submitted({folder.name: job.id for folder, job in jobs.items()})
            return jobs

        keep_busy([(folder,) for folder in batch.orders], batch.at_once, start, lambda _ended: True)

    def _placed(self, batch: Batch, order: TaskOrder, slot: int) -> TaskOrder:
        trial = batch.trial
        place = self._placement(batch.threads).of(slot, trial.processes, trial.device, trial.gpus)
        return order.model_copy(
            update={
                "env": place.env | order.env,
                "cpus": place.cpus,
                "oversubscribed": place.shared,
                "slot": slot,
                # What a killed task left in it is found again.
                "scratch_prefix": None if order.container else scratch_prefix(self._run_folder),
            }
        )

    def end_all(self) -> int:
        """End the processes of this run."""
        ended = 0
        while found := started_for(self._run_folder):
            # A task is asked to end, and its launcher is not; one that has lost it comes last.
            launchers = [process for process in found if not is_task(process)]
            ended += _end_trees(launchers, [] if launchers else found)
        left = left_scratch(self._run_folder)
        for session in left.values():
            ended += _end_trees(_orphaned_containers(session))
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)
        return ended


def _launched(folder: Path, token: str) -> LocalJob:
    """Start the launcher of a task, which ends with this process."""
    program = [sys.executable, "-m", "pyscale.executors.launch"]
    # The terminal sends these to every process of the foreground, and each would end in its own
    # words: they do not hear it, and pyscale ends its tasks itself.
    with blocked(*OF_TERMINAL):
        return LocalJob(
            subprocess.Popen(
                [*program, str(os.getpid()), str(folder), token],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        )


def _orphaned_containers(session: int) -> list[psutil.Process]:
    """Containers, and what mounted images for them, of a task whose launcher was killed.

    They know nothing of the run, but belong to the launcher's session.
    """
    return [
        process
        for process in psutil.process_iter(["name", "ppid"])
        if process.info["name"] in (*CONTAINER_PROGRAMS, *CONTAINER_HELPERS)
        and _session(process.pid) == session
        # A session's number returns in time: these have lost the parent that was in theirs.
        and _session(process.info["ppid"]) != session
    ]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _end_trees(launchers: Sequence[psutil.Process], tasks: Sequence[psutil.Process] = ()) -> int:
    """End processes and all their descendants, and wait until they are gone."""
    # Launchers are stopped first, so that none records its task's death as a failure.
    for launcher in launchers:
        with suppress(psutil.Error):
            launcher.suspend()
    family = [*launchers, *tasks]
    for root in (*launchers, *tasks):
        with suppress(psutil.Error):
            family += [child for child in root.children(recursive=True) if child not in family]
    asked = []
    # The others may remove what they wrote before they are killed.
    for process in family[len(launchers) :]:
        with suppress(psutil.Error):
            # What mounts an image has to stay until then: the task's own program lies in it.
            if process.name() not in CONTAINER_HELPERS:
                process.terminate()
                asked.append(process)
    wait_until_ended(asked, TO_CLEAR_UP_S)
    killed = []
    for process in family:
        # One that is not this user's to kill does not count.
        with suppress(psutil.AccessDenied):
            with suppress(psutil.NoSuchProcess):
                process.kill()
            killed.append(process)
    left = [process.pid for process in wait_until_ended(killed, TO_DIE_S)]
    if left:
        raise UserError(
            f"killed, and not ended after {TO_DIE_S:g} s (process {listing(left)}), as while a "
            "disk or network filesystem does not answer: run `pyscale cancel` again when it does"
        )
    return len(killed)
