"""Warm workers as steps of one job, which outlast the trials that they do windows of."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pyscale.executors.protocol import Batch
from pyscale.executors.stepcommand import step_environment, worker_command
from pyscale.executors.stepends import PERIOD_S, TO_END_S, Step, StepLog
from pyscale.executors.submission import Submission
from pyscale.executors.waiting import Group, keep_busy
from pyscale.executors.warmworkers import Key, WarmWorker, WarmWorkers, attended, give_tasks
from pyscale.interruption import ENDING, blocked
from pyscale.planning.sites import Site
from pyscale.processes import WORKERS_FOLDER
from pyscale.store.folder import RunFolder
from pyscale.store.records import LAUNCH_FILE, TaskOrder
from pyscale.store.taskfiles import ended_by_another


class WarmStep(Step, WarmWorker):
    """One worker, and the srun that hands lines on to its resident launcher, each for so long."""

    def __init__(self, folder: Path, command: Sequence[str], log: StepLog, limit_s: float) -> None:
        log.path.parent.mkdir(exist_ok=True)
        with log.path.open("ab") as err:
            process = attended(command, err, step_environment())
        Step.__init__(self, process, log)
        WarmWorker.__init__(self, folder, process)
        self._limit_s = limit_s
        self._until_s: float | None = None

    def is_alive(self, folder: Path) -> bool:
        """Whether the task that it was given last may still leave a record."""
        if self._until_s is not None and time.monotonic() > self._until_s:
            # Slurm limits the time of the worker, and not that of a task.
            self._until_s = None
            # In the words of srun, by which StepLog knows why the task ended.
            with self.log.path.open("a", encoding="utf-8") as log:
                log.write(f"pyscale: {folder} is ended due to time limit\n")
            self.process.terminate()
        return super().is_alive(folder)

    def give(self, folder: Path, token: str) -> None:
        """Have it do a task that was ordered."""
        self._until_s = time.monotonic() + self._limit_s
        super().give(folder, token)

    def never_began(self) -> bool:
        """Whether srun could not start it as the controller is away, once it was waited for."""
        return not (self.folder / LAUNCH_FILE).exists() and self.log.is_away()

    def end(self) -> None:
        """Let it end, and wait until Slurm can give its cores to another step."""
        with suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=TO_END_S)
            return
        self.process.terminate()
        self.wait()


class WarmSteps:
    """All workers that are steps of this process's job; `refuse_ending` raises where that ends."""

    def __init__(
        self, run: RunFolder, site: Site, job_id: str, refuse_ending: Callable[[], None]
    ) -> None:
        self._submissions = run.submissions
        self._site = site
        self._job_id = job_id
        self._refuse_ending = refuse_ending
        self._workers = WarmWorkers[WarmStep](run.path / WORKERS_FOLDER)

    def __bool__(self) -> bool:
        """Whether any is kept."""
        return bool(self._workers.kept)

    def run(self, batch: Batch) -> None:
        """Have workers do the tasks of a batch; those that it does not use are ended."""
        asked = Submission.of(batch).requested(self._site)

        def start(slots: Mapping[Group, int]) -> Mapping[Path, WarmStep]:
            workers = self._ready(batch, slots.values())
            # A Ctrl-C between the start of a task and its record would leave it unknown.
            with blocked(*ENDING):
                jobs = give_tasks(batch, slots, workers, placed)
                batch.submitted({folder.name: self._job_id for folder in jobs})
            return jobs

        slots = range(min(batch.at_once, len(batch.orders)))
        # Their cores are needed, and Slurm gives them to no other step before.
        self._workers.keep_only([_key(batch, slot) for slot in slots])
        # All together, before the first is given its task.
        self._ready(batch, slots)

        def placed(order: TaskOrder, slot: int) -> TaskOrder:
            return order.model_copy(update={"requested": asked, "slot": slot})

        keep_busy([(folder,) for folder in batch.orders], batch.at_once, start, self._settled)

    def end(self) -> None:
        """Let all end, and wait for that."""
        self._workers.keep_only(())

    def end_all(self) -> int:
        """End all, whatever they do; return how many there were."""
        kept = list(self._workers.kept.values())
        for worker in kept:
            worker.process.terminate()
        self.end()
        return len(kept)

    def _ready(self, batch: Batch, slots: Iterable[int]) -> dict[int, WarmStep]:
        """Workers of slots that can begin at once, as soon as the controller starts steps."""
        asked = Submission.of(batch).requested(self._site)

        def placed(order: TaskOrder, _slot: int) -> TaskOrder:
            return order.model_copy(update={"requested": asked})

        def launch(folder: Path) -> WarmStep:
            log = StepLog(self._submissions / f"{folder.name}.srun", self._job_id, asked)
            command = worker_command(self._site, batch, folder, self._job_id)
            return WarmStep(folder, command, log, asked.time_limit_s)

        keys = {slot: _key(batch, slot) for slot in slots}
        while True:
            found = self._workers.ready(batch, keys, placed, launch)
            if not any(worker.never_began() for worker in found.values()):
                return found
            self._refuse_ending()
            # Nothing tells when a controller is back.
            threading.Event().wait(PERIOD_S)

    def _settled(self, jobs: Mapping[Path, WarmStep]) -> bool:
        """Learn why a task that has ended left no word; the end of the job itself raises."""
        for folder, worker in jobs.items():
            if ended_by_another(folder):
                # What Slurm did, srun says at the end of the step.
                kept = self._workers.kept
                self._workers.keep_only([key for key in kept if kept[key] is not worker])
                self._refuse_ending()
                worker.log.explain(folder)
        return True


def _key(batch: Batch, slot: int) -> Key:
    return batch.trial.entry, batch.threads, slot
