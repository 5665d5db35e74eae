"""Tasks as steps of the job that pyscale's pilot runs in: Slurm starts, binds and ends them.

Why one ended is told by what srun said: Slurm forgets a step at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyscale.errors import end_of
from pyscale.executors.protocol import WINDOWS, Batch, Executor
from pyscale.executors.submission import OF_THE_CLUSTER, WITHOUT_RANK_FAILURE, asked
from pyscale.executors.waiting import Group, keep_busy
from pyscale.interruption import ENDING, OF_TERMINAL, blocked
from pyscale.planning.joboptions import Allocation, as_words, node_options, speaks_of_threads
from pyscale.planning.sites import Site
from pyscale.slurm import commands
from pyscale.slurm.commands import ask, is_away
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.records import EXIT_FILE, LAUNCH_FILE, LaunchRecord, Requested
from pyscale.store.taskfiles import (
    LIMITS,
    ended_by_another,
    explain_end,
    read_record,
    was_killed,
    withdraw_orders,
    write_order,
)
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import EXIT_FAILED, EXIT_RESOURCE_EXHAUSTED


class StepExecutor(Executor):
    """Starts tasks as steps of one job, which this process runs in."""

    def __init__(self, run: RunFolder, site: Site, journal: Journal, job_id: str) -> None:
        self._run = run
        self._site = site
        self._journal = journal
        self._job_id = job_id
        self._steps: list[Step] = []
        self._pauses_s = list(commands.PAUSES_S)
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
            self._pauses_s = list(commands.PAUSES_S)
            return True
        never_began = all(not (folder / LAUNCH_FILE).exists() for folder in tasks)
        # Those that were started together wait once.
        is_next = step.began_s > self._waited_s
        if never_began and step.is_away() and (self._pauses_s or not is_next):
            for folder in tasks:
                # It was taken for vanished, and is started again: it is not to be seen as failed.
                (folder / EXIT_FILE).unlink(missing_ok=True)
            self._refuse_ending()
            if is_next:
                commands.wait(self._pauses_s.pop(0))
                self._waited_s = time.monotonic()
            self._refuse_ending()
            return False
        self._refuse_ending()
        for folder in lost:
            step.explain(folder)
        return True

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


_LOG_BYTES = 64 * 1024
AGAIN = "resume the run to try it again"
_ENDINGS = (
    (
        r"oom-kill|out of memory|exceeded memory limit",
        "OutOfMemory",
        "ran out of memory{on}{memory}: raise memory_gib in the site's file, or use more workers "
        "so that each holds less",
    ),
    (
        r"due to time limit",
        "TimeLimit",
        "reached its time limit{on}{time}: raise time_min in the site's file, or use more workers "
        "so that each does less",
    ),
    (
        r"due to node failure|node fail",
        "NodeFail",
        f"lost its node{{on}}, which went down or stopped answering: {AGAIN}, and report it to the "
        "cluster's administrators if it happens again",
    ),
    (
        r"due to preemption",
        "Preempted",
        f"was preempted{{on}}: {AGAIN}, or name a partition or qos without preemption in the "
        "site's file",
    ),
    (r"\*\*\* step \S+ on \S+ cancelled", "Cancelled", f"was cancelled{{on}}: {AGAIN}"),
)
"""Words of slurmstepd and srun: kind of such an end, and what is said of it; the first counts."""
_STEP = re.compile(r"(?:StepId=|STEP )(\d+\.\d+)")
UNKNOWN_JOB = "invalid job id"
GRACE_S = 5.0
"""How long a record may be on its way after its step has ended, on a shared filesystem."""
PERIOD_S = 5.0
"""Between tries to start a step while the controller is away."""
TO_END_S = 30.0
"""How long srun may take to end once its task has, or once it is asked to."""


class AllocationEndedError(Exception):
    """The job that steps run in is ending; its state is in Slurm's word."""

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(f"the allocation is {state}")


class Step:
    """One srun, which lives as long as its tasks do, each of which asked for the same."""

    def __init__(
        self, process: subprocess.Popen[Any], log: Path, job_id: str, asked: Requested
    ) -> None:
        self.process = process
        self.began_s = time.monotonic()
        self._log = log
        self._job_id = job_id
        self._asked = asked
        self._gone_s: float | None = None

    def _said(self) -> str:
        """What srun said, or its end where that is long."""
        return end_of(self._log, _LOG_BYTES)

    def is_away(self) -> bool:
        """Whether srun complained that the controller does not answer."""
        return is_away(self._said())

    def killer(self, folder: Path) -> TaskError | None:
        """Why Slurm ended a task of the step; None where it did not."""
        said = self._said()
        known = (end for end in _ENDINGS if re.search(end[0], said, re.I))
        _, kind, sentence = next(known, ("", "", ""))
        if not kind:
            return None
        found = _STEP.search(said)
        launch = read_record(LaunchRecord, folder / LAUNCH_FILE)
        memory_bytes = self._asked.memory_bytes
        how = sentence.format(
            on=f" on {launch.node}" if launch is not None else "",
            memory=f", of {memory_bytes / 2**30:.3g} GiB that it asked for" if memory_bytes else "",
            time=f", of {self._asked.time_limit_s / 60:g} min",
        )
        return TaskError(
            kind=kind,
            message=f"step {found[1] if found else self._job_id} {how}",
            exit_code=EXIT_RESOURCE_EXHAUSTED if kind in LIMITS else EXIT_FAILED,
        )

    def explain(self, folder: Path) -> None:
        """Add to the record of a task without a word of its own why that is, where it is known."""
        explain_end(folder, self.killer(folder) if was_killed(folder) else self.cause(folder))

    def cause(self, folder: Path) -> TaskError:
        """Why a task of the step left no record."""
        killer = self.killer(folder)
        if killer is not None:
            return killer
        lines = [line for line in self._said().splitlines() if line.startswith("srun: error: ")]
        said = lines[-1].removeprefix("srun: error: ") if lines else "without a word of srun"
        return TaskError(
            kind="Failed",
            message=f"a step of job {self._job_id} failed ({said}): see {self._log}, and {AGAIN}",
            exit_code=EXIT_FAILED,
        )

    def is_alive(self, folder: Path) -> bool:
        """Whether a task of the step may still leave a record."""
        if self.process.poll() is None:
            return True
        if self._gone_s is None:
            self._gone_s = time.monotonic()
        # Listing a folder makes a network filesystem look again for files that were not there.
        next(folder.iterdir(), None)
        # What never began has no record on its way.
        began = self.process.returncode == 0 or (folder / LAUNCH_FILE).exists()
        return began and time.monotonic() - self._gone_s < GRACE_S

    def wait(self) -> None:
        """Return when srun has ended, so that what it held is free for the next step."""
        try:
            self.process.wait(TO_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def own_state(job_id: str) -> str | None:
    """State of a job in Slurm's word; None where Slurm does not answer."""
    answer = _told(job_id, "%T")
    return "UNKNOWN" if answer == "" else answer


def own_end_s(job_id: str) -> float | None:
    """When a job must end, in seconds since 1970; None where Slurm does not tell."""
    end = _told(job_id, "%e")
    return float(end) if end is not None and end.isdigit() else None


def _told(job_id: str, field: str) -> str | None:
    """What Slurm says of a job, nothing where it does not know it; None where it is silent."""
    answer = ask(
        *("squeue", "--noheader", "--states=all", f"--jobs={job_id}", f"--format={field}"),
        variables={"SLURM_TIME_FORMAT": "%s"},
    )
    if answer.code != 0:
        return "" if UNKNOWN_JOB in answer.complaint.lower() else None
    return answer.out.strip()
