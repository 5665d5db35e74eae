"""Tasks on this machine, by submitit's local executor."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil

from pyscale.executors.containernode import dead_scratch, left_scratch, scratch_prefix
from pyscale.executors.launch import launch
from pyscale.executors.protocol import WINDOWS, Batch, Executor
from pyscale.executors.waiting import Group, keep_busy
from pyscale.executors.warmworkers import (
    Key,
    Start,
    WarmWorker,
    WarmWorkers,
    give_tasks,
    worker_here,
)
from pyscale.interruption import ENDING, OF_TERMINAL, blocked
from pyscale.mps import end_left, service
from pyscale.placement import GPUS, Place, Placement
from pyscale.processes import WORKERS_FOLDER, is_task, started_for, wait_until_ended
from pyscale.store.records import EXIT_FILE, ExitRecord, TaskOrder
from pyscale.store.taskfiles import read_record, write_order
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import TaskError

NO_TIMEOUT_MIN = 60 * 24 * 365
CONTAINER_PROGRAMS = ("starter", "starter-suid")
CONTAINER_HELPERS = ("squashfuse", "squashfuse_ll", "fuse-overlayfs", "fuse2fs", "gocryptfs")
"""Programs that mount for a container program, and outlive one that is killed."""
TO_CLEAR_UP_S = 30.0
"""Longest that a task that is ended may take to remove what it wrote: it can be gigabytes."""


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

    def why_gone(self) -> None:
        """Nobody knows: this machine keeps no account of it."""


class LocalExecutor(Executor):
    """Starts tasks as processes of this machine.

    `submissions` is the folder for submitit's own files; `placement` says which cores and GPUs each
    worker gets, where each has as many cores as it is called with.
    """

    on_this_node = True

    def __init__(self, submissions: Path, placement: Callable[[int], Placement]) -> None:
        self._submissions = submissions
        self._placement = placement
        self._workers = WarmWorkers[WarmWorker](submissions.parent / WORKERS_FOLDER)

    def run(self, batch: Batch) -> None:
        """Keep as many workers busy as the batch allows, until all its tasks have ended."""
        with self._gpu_service(batch) as variables:
            self._run(batch, variables)

    def _run(self, batch: Batch, variables: dict[str, str]) -> None:
        # All together, before the first is given its task.
        self._warm(batch, range(min(batch.at_once, len(batch.orders))), variables)

        def placed(order: TaskOrder, slot: int) -> TaskOrder:
            return self._placed(batch, order, slot, variables)

        def start(slots: Mapping[Group, int]) -> Mapping[Path, LocalJob | WarmWorker]:
            jobs: Mapping[Path, LocalJob | WarmWorker]
            if batch.warm is not None:
                workers = self._warm(batch, slots.values(), variables)
                jobs = give_tasks(batch, slots, workers, placed)
            else:
                # Orders carry the time of submission, so all are written before the first starts.
                for (folder,), slot in slots.items():
                    write_order(folder, placed(batch.orders[folder], slot))
                folders = [folder for (folder,) in slots]
                jobs = dict(zip(folders, self._submit(folders), strict=True))
            batch.submitted({folder.name: job.id for folder, job in jobs.items()})
            return jobs

        groups = [(folder,) for folder in batch.orders]
        keep_busy(groups, batch.at_once, start, lambda _ended: True)

    def _warm(
        self, batch: Batch, slots: Iterable[int], variables: dict[str, str]
    ) -> dict[int, WarmWorker]:
        """Warm workers of these slots, ready to begin; none where each task is a new process."""
        if batch.warm is None:
            return {}
        entry, draft = batch.trial.entry, batch.warm.draft
        keys: dict[int, Key] = {}
        for slot in slots:
            place = self._place(batch, slot)
            keys[slot] = (entry, batch.threads, slot, place.cpus, *sorted(place.env.items()))
        starts: dict[Key, tuple[str, Start]] = {}
        for slot, key in keys.items():

            def start(folder: Path, slot: int = slot) -> TaskOrder:
                return self._placed(batch, draft(folder), slot, variables)

            starts[key] = (f"{entry}-s{slot}", start)
        memory_bytes = batch.warm.memory_bytes
        found = self._workers.ready(
            starts, lambda folder: worker_here(folder, memory_bytes), memory_bytes
        )
        return {slot: found[key] for slot, key in keys.items()}

    def end_strays(self) -> int:
        """End all: a process that has lost its pyscale cannot be waited for."""
        return self.end_all()

    def _place(self, batch: Batch, slot: int) -> Place:
        trial = batch.trial
        placement = self._placement(batch.threads)
        return placement.of(slot, trial.processes, trial.device, trial.gpu_sharing, trial.gpus)

    def _placed(
        self, batch: Batch, order: TaskOrder, slot: int, variables: dict[str, str]
    ) -> TaskOrder:
        place = self._place(batch, slot)
        return order.model_copy(
            update={
                "env": place.env | variables | order.env,
                "cpus": place.cpus,
                "oversubscribed": place.shared,
                "slot": slot,
                # What a killed task left in it is found again.
                "scratch_prefix": None
                if order.container
                else scratch_prefix(self._submissions.parent),
            }
        )

    def _submit(self, folders: Sequence[Path]) -> list[LocalJob]:
        """Start one process chain for each task folder."""
        from pyscale.executors.controller import MortalExecutor

        # A folder for each submission: submitit names its files by process id, which returns.
        executor = MortalExecutor(self._submissions / token_hex(4))
        executor.update_parameters(timeout_min=NO_TIMEOUT_MIN)
        # The terminal sends these to every process of the foreground, and each would end in its
        # own words: they do not hear it, and pyscale ends its tasks itself.
        with blocked(*OF_TERMINAL):
            return [LocalJob(executor.submit(launch, str(folder))) for folder in folders]

    def end_all(self) -> int:
        """End the processes of this run.

        A launcher may be starting while the others are found: the search goes on until it
        finds none.
        """
        ended = self._end_tasks()
        # These end once nobody uses them.
        return ended + end_left(self._submissions.parent)

    def _end_tasks(self) -> int:
        ended = 0
        run = self._submissions.parent
        while found := started_for(run):
            # A task is asked to end, and its launcher is not; one that has lost it comes last.
            launchers = [process for process in found if not is_task(process)]
            ended += _end_trees(launchers, [] if launchers else found)
        for folder, session in left_scratch(run).items():
            ended += _end_trees(_orphaned_containers(session))
            shutil.rmtree(folder, ignore_errors=True)
        for folder in dead_scratch():
            shutil.rmtree(folder, ignore_errors=True)
        self._workers.keep_only(())
        return ended

    @contextmanager
    def _gpu_service(self, batch: Batch) -> Iterator[dict[str, str]]:
        """Run what the batch's workers share a GPU by; yield the variables by which they find it.

        Tasks that did not use it, and so measured something else, are made failed ones.
        """
        trial = batch.trial
        if batch.name != WINDOWS or trial.device != "cuda" or trial.gpu_sharing != "mps":
            yield {}
            return
        with service(self._submissions.parent, self._place(batch, 0).env[GPUS]) as running:
            try:
                yield running.variables
            except BaseException:
                with blocked(*ENDING):
                    self._end_tasks()
                raise
            if not running.was_used():
                _fail_all(batch.orders, _unused(running.last_words()))


def _unused(last_words: str) -> TaskError:
    said = f" ({last_words})" if last_words else ""
    return TaskError(
        kind="NoMps",
        message=f"the workers computed without NVIDIA's MPS, although it was started{said}: have "
        "the driver checked, run without images, or leave mps out of gpu_sharing",
        exit_code=1,
    )


def _fail_all(folders: Iterable[Path], cause: TaskError) -> None:
    """Make tasks that ended well failed ones."""
    for folder in folders:
        ended = read_record(ExitRecord, folder / EXIT_FILE)
        if ended is not None and ended.returncode == 0:
            failed = ended.model_copy(update={"returncode": cause.exit_code, "cause": cause})
            write_atomically(folder / EXIT_FILE, failed.model_dump_json() + "\n")


def _orphaned_containers(session: int) -> list[psutil.Process]:
    """Containers, and what mounted images for them, of a task whose launcher was killed.

    They know nothing of the run, but belong to the launcher's session. Numbers of sessions
    return in time: only what makes containers is taken, and only where its parent has gone and
    left it to a process outside.
    """
    return [
        process
        for process in psutil.process_iter(["name", "ppid"])
        if process.info["name"] in (*CONTAINER_PROGRAMS, *CONTAINER_HELPERS)
        and _session(process.pid) == session
        and _session(process.info["ppid"]) != session
    ]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _end_trees(launchers: Sequence[psutil.Process], tasks: Sequence[psutil.Process] = ()) -> int:
    """End processes and all their descendants, and wait until they are gone.

    The launchers are stopped first: one that saw its task die would record a failure, and to be
    ended by us is none. The others are asked to end before they are killed: a task that measures
    storage removes its test files then. What mounts an image for one is not asked: the task's own
    program lies in it.
    """
    for launcher in launchers:
        with suppress(psutil.Error):
            launcher.suspend()
    family = [*launchers, *tasks]
    for root in (*launchers, *tasks):
        with suppress(psutil.Error):
            family += [child for child in root.children(recursive=True) if child not in family]
    asked = [process for process in family[len(launchers) :] if not _mounts_image(process)]
    for process in asked:
        with suppress(psutil.Error):
            process.terminate()
    wait_until_ended(asked, TO_CLEAR_UP_S)
    killed = [process for process in family if _kill(process)]
    wait_until_ended(killed)
    return len(killed)


def _kill(process: psutil.Process) -> bool:
    """Kill a process; return whether it is this user's to kill."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
    return True


def _mounts_image(process: psutil.Process) -> bool:
    try:
        return process.name() in CONTAINER_HELPERS
    except psutil.Error:
        return False
