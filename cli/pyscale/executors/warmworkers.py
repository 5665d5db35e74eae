"""Workers of this machine, and warm ones: started when a trial needs them, kept for the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

import psutil

from pyscale.executors.protocol import Batch
from pyscale.executors.waiting import Group
from pyscale.interruption import OF_TERMINAL, blocked
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import write_order
from pyscale_stages.contract import TaskError
from pyscale_stages.measure.cgroups import limits

Key = tuple[object, ...]
W = TypeVar("W", bound="WarmWorker")


class LocalJob:
    """What starts a task on this machine, which keeps no account of why one has gone."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self.process = process

    @property
    def id(self) -> str:
        """Process id, by which its tasks are submitted."""
        return str(self.process.pid)

    def is_alive(self, folder: Path) -> bool:  # noqa: ARG002 - for those that have several tasks
        """Whether a task that it was given may still leave a record."""
        return self.process.poll() is None

    def why_gone(self, folder: Path) -> TaskError | None:  # noqa: ARG002
        """Nobody knows."""
        return None


class WarmWorker(LocalJob):
    """One worker, by its resident launcher or what hands lines on to it.

    `memory_bytes`: what its stage is declared to take of this machine; 0 where it has its own.
    """

    def __init__(self, folder: Path, process: subprocess.Popen[str], memory_bytes: int = 0) -> None:
        super().__init__(process)
        self.folder = folder
        self.memory_bytes = memory_bytes
        # Its first answer says that it is ready; each task adds one.
        self._unheard = 1

    def is_usable(self) -> bool:
        """Whether it can do another task, once it has said so of the last one."""
        assert self.process.stdout is not None
        alive = True
        while self._unheard and alive:
            answer = json.loads(self.process.stdout.readline() or "{}")
            self._unheard -= 1
            # One that could not begin tells that to the task that it is given.
            alive = answer.get("alive", False) or answer.get("ready") is False
        return alive and self.process.poll() is None

    def give(self, folder: Path, token: str) -> None:
        """Have it do a task that was ordered."""
        assert self.process.stdin is not None
        self._unheard += 1
        # One that has ended leaves no record, and is found to be gone.
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"folder": str(folder), "token": token}) + "\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """Let it end, and wait for that."""
        self.process.communicate()


def worker_here(folder: Path, memory_bytes: int) -> WarmWorker:
    """Start a worker of this machine, which does not outlive this process."""
    program = (sys.executable, "-m", "pyscale.executors.resident")
    # What it could say on stderr would stand between the lines of the progress.
    process = attended((*program, str(folder), str(os.getpid())), subprocess.DEVNULL)
    return WarmWorker(folder, process, memory_bytes)


def attended(
    command: Sequence[str], stderr: int | IO[bytes], env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a resident launcher, or what hands lines on to one."""
    pipe = subprocess.PIPE
    # As the launchers of tasks: the terminal's signals do not reach it, pyscale ends it.
    with blocked(*OF_TERMINAL):
        return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=stderr, text=True)


def give_tasks(
    batch: Batch,
    slots: Mapping[Group, int],
    workers: Mapping[int, W],
    placed: Callable[[TaskOrder, int], TaskOrder],
) -> dict[Path, W]:
    """Have the worker of each slot do a task of a batch; `placed` adds what depends on the slot."""
    found: dict[Path, W] = {}
    tokens = {}
    # Orders carry the time of submission, so all are written before the first starts.
    for (folder,), slot in slots.items():
        found[folder] = workers[slot]
        order = placed(batch.orders[folder], slot)
        told = {"worker": found[folder].folder.name}
        tokens[folder] = write_order(folder, order.model_copy(update=told))
    for folder, token in tokens.items():
        found[folder].give(folder, token)
    return found


class WarmWorkers(Generic[W]):
    """All workers of a run, each in a folder below this one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # In the order of their last use.
        self.kept: dict[Key, W] = {}

    def ready(
        self,
        batch: Batch,
        keys: Mapping[int, Key],
        placed: Callable[[TaskOrder, int], TaskOrder],
        launch: Callable[[Path], W],
        memory_bytes: int = 0,
    ) -> dict[int, W]:
        """Workers of slots that can begin at once; those that are missing are started together.

        `keys` tells the workers of slots apart, `placed` adds to the order of one what depends on
        its slot, and `launch` starts the resident launcher of a folder. `memory_bytes`: what each
        of them takes of this machine, as its stage declares.
        """
        assert batch.warm is not None
        for key in keys.values():
            worker = self.kept.pop(key, None)
            if worker is not None and worker.is_usable():
                self.kept[key] = worker
            elif worker is not None:
                worker.end()
        for slot, key in keys.items():
            if key not in self.kept:
                self._make_room(memory_bytes, besides=keys.values())
                folder = self._new_folder(f"{batch.trial.entry}-s{slot}")
                write_order(folder, placed(batch.warm.draft(folder), slot))
                self.kept[key] = launch(folder)
        found = {slot: self.kept[key] for slot, key in keys.items()}
        for worker in found.values():
            # One that fails is given its task all the same, which then says why.
            worker.is_usable()
        return found

    def keep_only(self, keys: Collection[Key]) -> None:
        """End all others."""
        for key in [key for key in self.kept if key not in keys]:
            self.kept.pop(key).end()

    def _make_room(self, memory_bytes: int, besides: Iterable[Key]) -> None:
        """End those that were not used for longest, until another one fits in the memory."""
        total, limit = psutil.virtual_memory().total, limits().memory_bytes
        usable = total if limit is None else min(total, limit)
        for key in [key for key in self.kept if key not in besides]:
            taken = sum(worker.memory_bytes for worker in self.kept.values())
            if taken + memory_bytes <= usable:
                break
            self.kept.pop(key).end()

    def _new_folder(self, name: str) -> Path:
        number = 1
        while (folder := self._folder / f"{name}-{number}").exists():
            number += 1
        folder.mkdir(parents=True)
        return folder
