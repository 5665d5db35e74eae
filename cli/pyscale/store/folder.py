"""The run folder: where everything about one run lies."""

from __future__ import annotations

import errno
import random
import shutil
import string
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from pyscale.errors import UserError
from pyscale.plan import Plan, Trial
from pyscale.store.provenance import Containers, write_provenance
from pyscale_stages.atomic import write_atomically

PLAN_FILE = "plan.json"


class RunFolder:
    """Paths of one run, and its plan.

    Parameters
    ----------
    path : Path
        An existing run folder; `create` makes one.

    Raises
    ------
    UserError
        If there is no readable plan at `path`.
    """

    def __init__(self, path: Path) -> None:
        # One spelling, whatever link it was reached by: processes are found by it.
        self.path = path.resolve()
        try:
            self.plan = Plan.model_validate_json((path / PLAN_FILE).read_bytes())
        except (OSError, ValidationError) as error:
            raise UserError(
                f"{path} is not a run of pyscale: {PLAN_FILE} is missing or unreadable there"
            ) from error

    @classmethod
    def create(
        cls, runs_folder: Path, plan: Plan, containers: Containers | None = None
    ) -> RunFolder:
        """Make the folder of a new run; the plan is written last, so a run is whole or absent."""
        path = runs_folder / plan.run_id
        try:
            (path / "tasks").mkdir(parents=True)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise UserError(
                f"{runs_folder} cannot hold runs ({error.strerror}): set runs_folder to a folder "
                "that may be written"
            ) from error
        write_provenance(path, plan.movie, containers)
        write_atomically(path / PLAN_FILE, plan.model_dump_json(indent=1) + "\n")
        return cls(path)

    @property
    def journal_file(self) -> Path:
        """Append-only events."""
        return self.path / "journal.jsonl"

    @property
    def report(self) -> Path:
        """Folder of the report."""
        return self.path / "report"

    @property
    def submissions(self) -> Path:
        """Where submitit keeps its own files."""
        return submissions_of(self.path)

    def trial(self, trial: Trial) -> Path:
        """Folder of a trial's tasks."""
        return self.path / "tasks" / trial.id

    def task(self, trial: Trial, task: str) -> Path:
        """Folder of one task: `w0` … for the windows, `merge`, `check`."""
        return self.trial(trial) / task

    def output(self, trial: Trial) -> Path:
        """Folder of a trial's whole output."""
        return self.task(trial, trial.output_task) / "out"

    def set_aside(self, trial: Trial, why: str) -> None:
        """Keep a trial's folder under another name and make room for a new attempt."""
        self.drop_outputs(trial)
        folder = self.trial(trial)
        folder.rename(folder.with_name(f"{folder.name}.{why}-{_count(folder, why) + 1}"))

    def set_task_aside(self, trial: Trial, task: str, why: str) -> None:
        """Keep a task's folder under another name, so that it can be ordered again."""
        folder = self.task(trial, task)
        if folder.exists():
            folder.rename(folder.with_name(f"{task}.{why}-{_count(folder, why) + 1}"))

    def attempts(self, trial: Trial) -> int:
        """How often the timed part of a trial was started, interruptions not counted."""
        failed_merges = _count(self.task(trial, "merge"), "failed")
        return 1 + _count(self.trial(trial), "failed") + failed_merges

    def drop_outputs(self, trial: Trial) -> None:
        """Delete a trial's outputs and keep its records."""
        for output in self.trial(trial).glob("*/out"):
            shutil.rmtree(output)


def _count(folder: Path, why: str) -> int:
    """Number of folders that were set aside from this name for this reason."""
    # They are numbered from 1; to list the parent would take long where a run has many trials.
    count = 0
    while folder.with_name(f"{folder.name}.{why}-{count + 1}").exists():
        count += 1
    return count


def submissions_of(run: Path) -> Path:
    """Where submitit keeps its own files of a run, which need not be there yet."""
    return run / "submitit"


def new_run_id() -> str:
    """UTC time to the second and a random suffix, like 20260317T114224Z-k3f9."""
    suffix = "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=4))
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{suffix}"


def find_run(runs_folder: Path, name: str | None) -> RunFolder:
    """Open a run by its id, by a path, or the latest.

    Raises
    ------
    UserError
        If there is no such run, or none at all.
    """
    if name is not None:
        path = Path(name) if (Path(name) / PLAN_FILE).exists() else runs_folder / name
        if not path.is_dir():
            raise UserError(
                f"there is no run {name} in {runs_folder}: `ls {runs_folder}` shows the runs"
            )
        return RunFolder(path)
    runs = sorted(plan.parent for plan in runs_folder.glob(f"*/{PLAN_FILE}"))
    if not runs:
        raise UserError(f"there is no run in {runs_folder}: start one with `pyscale run pipeline`")
    return RunFolder(runs[-1])
