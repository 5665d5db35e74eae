"""Tasks as steps of the job that pyscale's pilot runs in: Slurm starts, binds and ends them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyscale.executors.protocol import WINDOWS, Batch, Executor
from pyscale.executors.stepends import PERIOD_S, AllocationEndedError, Step, own_state
from pyscale.executors.submission import OF_THE_CLUSTER, WITHOUT_RANK_FAILURE, asked
from pyscale.executors.waiting import Group, keep_busy
from pyscale.interruption import ENDING, OF_TERMINAL, blocked
from pyscale.planning.joboptions import Allocation, as_words, node_options, speaks_of_threads
from pyscale.planning.sites import Site
from pyscale.slurm.commands import Patience
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.records import EXIT_FILE, LAUNCH_FILE, Requested
from pyscale.store.taskfiles import ended_by_another, withdraw_orders, write_order


class StepExecutor(Executor):
    """Starts tasks as steps of one job, which this process runs in."""

    def __init__(self, run: RunFolder, site: Site, journal: Journal, job_id: str) -> None:
        self._run = run
        self._site = site
        self._journal = journal
        self._job_id = job_id
        self._steps: list[Step] = []
        self._patience = Patience()
        self._waited_s = 0.0

    def run(self, batch: Batch) -> None:
        """Keep as many steps running as the batch allows, until all its tasks have ended."""
        # Ranks that meet are one step, and not steps of their own.
        gang = batch.trial.meets and batch.name == WINDOWS

        def start(slots: Mapping[Group, int]) -> Mapping[Path, Step]:
            jobs: dict[Path, Step] = {}
            for tasks, slot in slots.items():
                # The ranks of a gang start together, so none of them waits for a slot.
                step = self._start(batch, tasks, None if gang else slot)
                jobs |= dict.fromkeys(tasks, step)
            return jobs

        groups = [tuple(batch.orders)] if gang else [(folder,) for folder in batch.orders]
        keep_busy(groups, 1 if gang else batch.at_once, start, self._settled)

    def end_all(self) -> int:
        """End the steps of this job, and take back the orders of their tasks."""
        for trial in self._run.plan.trials:
            withdraw_orders(self._run.trial(trial), trial.tasks)
        living = [step for step in self._steps if step.process.poll() is None]
        for step in living:
            step.process.terminate()
        for step in living:
            step.wait()
        return len(living)

    def _start(self, batch: Batch, tasks: Sequence[Path], slot: int | None) -> Step:
        wanted = asked(self._site, batch.trial, batch.name, batch.threads)
        requested = Requested(
            cpus=wanted.cpus,
            memory_bytes=wanted.memory_mib << 20 if self._site.memory else None,
            time_limit_s=60 * wanted.time_min,
            gpus=wanted.gpus,
        )
        known = {"requested": requested, "slot": slot}
        # A Ctrl-C between the start of a step and its record would leave it unknown.
        with blocked(*ENDING):
            tokens = {
                folder: write_order(folder, batch.orders[folder].model_copy(update=known))
                for folder in tasks
            }
            command = step_command(self._site, wanted, tokens, self._job_id)
            name = f"{batch.trial.id}.{tasks[0].name}.{next(iter(tokens.values()))}.srun"
            log = self._run.submissions / name
            process = _started(command, log)
            self._steps.append(Step(process, log, self._job_id, requested))
            batch.submitted({folder.name: self._job_id for folder in tasks})
        return self._steps[-1]

    def _settled(self, tasks: Mapping[Path, Step]) -> bool:
        """Learn why tasks of an ended step left no word; return whether they ever began."""
        step = next(iter(tasks.values()))
        step.wait()
        self._steps.remove(step)
        lost = [folder for folder in tasks if ended_by_another(folder)]
        if not lost:
            self._patience = Patience()
            return True
        never_began = all(not (folder / LAUNCH_FILE).exists() for folder in tasks)
        if never_began and step.is_away() and not self._gives_up(step):
            for folder in tasks:
                # It was taken for vanished, and is started again: it is not to be seen as failed.
                (folder / EXIT_FILE).unlink(missing_ok=True)
            self._refuse_ending()
            self._wait_after(step)
            self._refuse_ending()
            return False
        self._refuse_ending()
        for folder in lost:
            step.explain(folder)
        return True

    def _gives_up(self, step: Step) -> bool:
        """Whether the controller has been away for too long to start a step again."""
        return self._patience.is_over and step.began_s > self._waited_s

    def _wait_after(self, step: Step) -> None:
        """Wait before a step is started again; those that were started together wait once."""
        if step.began_s > self._waited_s:
            self._patience.pause()
            self._waited_s = time.monotonic()

    def _refuse_ending(self) -> None:
        """Raise where the job is about to end; wait as long as Slurm does not say."""
        silent = False
        while (state := own_state(self._job_id)) is None:
            if not silent:
                self._journal.append("slurm_silent", detail="squeue in the allocation")
            silent = True
            threading.Event().wait(PERIOD_S)
        if silent:
            self._journal.append("slurm_answers")
        if state != "RUNNING":
            raise AllocationEndedError(state)


def _started(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as err, blocked(*OF_TERMINAL):
        return subprocess.Popen(
            command, env=step_environment(), stdin=subprocess.DEVNULL, stdout=err, stderr=err
        )


def step_command(
    site: Site, wanted: Allocation, tokens: Mapping[Path, str], job_id: str
) -> list[str]:
    """Command line that runs tasks, the ranks of a gang if several, as one step of a job."""
    return [
        *_srun(site, wanted, len(tokens), job_id),
        "--input=none",
        f"--time={wanted.time_min}",
        *(sys.executable, "-u", "-m", "pyscale.executors.launch", "0"),
        *(word for folder, token in tokens.items() for word in (str(folder), token)),
    ]


def step_environment() -> dict[str, str]:
    """The environment of a step: without what the job asked for, which srun would ask for again."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in OF_THE_CLUSTER or not name.startswith(("SLURM_", "SLURMD_", "SRUN_"))
    }


def _srun(site: Site, wanted: Allocation, tasks: int, job_id: str) -> list[str]:
    return [
        "srun",
        f"--jobid={job_id}",
        # Without it a step would take all cores that the job has on its nodes.
        "--exact",
        "--mpi=none",
        *WITHOUT_RANK_FAILURE,
        f"--ntasks={tasks}",
        f"--cpus-per-task={wanted.cpus}",
        *as_words(node_options(wanted, tasks)),
        # Where the site's own options do not say how a task is bound.
        *([] if speaks_of_threads(wanted.request) else ["--cpu-bind=cores"]),
        _memory(site, wanted, tasks),
        # All GPUs of the job are of one type, and Slurm refuses one that was not asked for.
        f"--gpus-per-task={wanted.gpus}" if wanted.gpus else "--gres=none",
        # Ranks reach each other's memory only on GPUs that they see; each takes its own of them.
        *(["--gpu-bind=none"] if wanted.gpus and tasks > 1 else []),
    ]


def _memory(site: Site, wanted: Allocation, tasks: int) -> str:
    """Memory of a step; by default it would take all that the job has, and no other could begin."""
    if not site.memory:
        return "--mem=0"
    if tasks == 1:
        return f"--mem={wanted.memory_mib}M"
    return f"--mem-per-cpu={wanted.memory_mib_per_core}M"
