"""Steps, and why one ended, by what srun said: Slurm forgets a step at once."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any

from pyscale.errors import end_of
from pyscale.slurm.commands import ask, is_away
from pyscale.store.records import LAUNCH_FILE, LaunchRecord, Requested
from pyscale.store.taskfiles import LIMITS, explain_end, read_record, was_killed
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import EXIT_FAILED, EXIT_RESOURCE_EXHAUSTED

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
