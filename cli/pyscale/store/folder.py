"""The run folder: where everything about one run lies."""

from __future__ import annotations

import os
import random
import shutil
import stat
import string
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from pyscale.errors import UserError, refused_by_disk
from pyscale.planning.plan import Plan, Trial
from pyscale.processes import SUBMISSIONS_FOLDER, user_name
from pyscale.store.provenance import WHY_UNREADABLE, Containers, write_provenance
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import first_problem

PLAN_FILE = "plan.json"
_SUBMITTED = ".submission_file_"
LATEST = "latest"
MOST_NAMED = 5


class RunFolder:
    """Paths of one run, and its plan; UserError where the plan is missing or unreadable."""

    def __init__(self, path: Path) -> None:
        # One spelling, whatever link it was reached by: processes are found by it.
        self.path = path.resolve()
        self.journal_file = self.path / "journal.jsonl"
        self.report = self.path / "report"
        self.submissions = submissions_of(self.path)
        try:
            self.plan = Plan.model_validate_json((path / PLAN_FILE).read_bytes())
        except OSError as error:
            raise UserError(
                f"{path} is not a run of pyscale: {PLAN_FILE} is missing or unreadable there"
            ) from error
        except ValidationError as error:
            raise UserError(
                f"the run {path} cannot be read by this pyscale ({first_problem(error, Plan)} in "
                f"{PLAN_FILE}): {WHY_UNREADABLE}"
            ) from error

    @classmethod
    def create(
        cls, runs_folder: Path, plan: Plan, containers: Containers | None = None
    ) -> RunFolder:
        """Make the folder of a new run; the plan is written last, so a run is whole or absent."""
        path = runs_folder / plan.run_id
        _refuse_pattern(path.resolve())
        refusal = f"{runs_folder} cannot hold runs ({{why}}): set runs_folder to a writable folder"
        with refused_by_disk(refusal):
            (path / "tasks").mkdir(parents=True)
        write_provenance(path, plan.movies, containers, plan.truths, plan.readings)
        _write_plan(path, plan)
        return cls(path)

    def replace_plan(self, plan: Plan) -> None:
        """Write a plan that has more trials, which only who holds the run's lock may do."""
        _write_plan(self.path, plan)
        self.plan = plan

    def make_safe(self) -> None:
        """Keep what is done for the run inside its folder, which may come from anybody.

        Only its owner may write into it afterwards: pyscale executes what stands in it.
        """
        _refuse_pattern(self.path)
        try:
            for folder, subfolders, files in os.walk(self.path, onerror=_raised):
                _close_to_others(Path(folder))
                for path in (Path(folder, name) for name in (*subfolders, *files)):
                    if path.is_symlink():
                        self._refuse_outside(path)
        except PermissionError as error:
            raise UserError(
                f"{error.filename} cannot be read or changed ({error.strerror}): resume and cancel "
                "a run as the user who started it"
            ) from error

    def _refuse_outside(self, link: Path) -> None:
        """Raise where a link leads out of the folder."""
        if link.resolve().is_relative_to(self.path):
            return
        # submitit's lead to where the run was before it was copied; nothing reads them.
        if link.parent == self.submissions and link.name.startswith(_SUBMITTED):
            link.unlink()
            return
        raise UserError(
            f"{link} is a link that leads out of the run's folder: replace it by what it leads to, "
            "or remove it"
        )

    @property
    def other_owner(self) -> str | None:
        """Name of another user who has the folder or its plan; None where both are this user's."""
        owners = {path.stat().st_uid for path in (self.path, self.path / PLAN_FILE)}
        return next((user_name(owner) for owner in sorted(owners - {os.getuid()})), None)

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
        # The merge is timed too, and is tried again alone.
        failed_merges = _count(self.task(trial, "merge"), "failed")
        return 1 + _count(self.trial(trial), "failed") + failed_merges

    def drop_outputs(self, trial: Trial) -> None:
        """Delete a trial's outputs and keep its records."""
        for output in self.trial(trial).glob("*/out"):
            shutil.rmtree(output)


def _write_plan(run: Path, plan: Plan) -> None:
    write_atomically(run / PLAN_FILE, plan.model_dump_json(indent=1) + "\n")


def _raised(error: OSError) -> None:
    raise error


def _close_to_others(folder: Path) -> None:
    """Take from others the right to write into a folder of this user."""
    status = folder.stat()
    if status.st_uid == os.getuid() and status.st_mode & 0o022:
        folder.chmod(stat.S_IMODE(status.st_mode) & ~0o022)


def _refuse_pattern(path: Path) -> None:
    if "%" in str(path):
        raise UserError(
            f"{path} cannot hold a run: Slurm replaces % in the paths of logs; set runs_folder "
            "to a folder without it"
        )


def _count(folder: Path, why: str) -> int:
    """Number of folders that were set aside from this name for this reason."""
    # They are numbered from 1; to list the parent would take long where a run has many trials.
    count = 0
    while folder.with_name(f"{folder.name}.{why}-{count + 1}").exists():
        count += 1
    return count


def submissions_of(run: Path) -> Path:
    """Where submitit keeps its own files of a run, which need not be there yet."""
    return run / SUBMISSIONS_FOLDER


def new_run_id() -> str:
    """UTC time to the second and a random suffix, like 20260317T114224Z-k3f9."""
    suffix = "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=4))
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{suffix}"


def run_folders(runs_folder: Path) -> list[Path]:
    """Folders of all runs, the newest last."""
    # An id begins with the time.
    return sorted(plan.parent for plan in runs_folder.glob(f"*/{PLAN_FILE}"))


def find_run(runs_folder: Path, name: str | None) -> RunFolder:
    """Open the one run of an id, of the start or end of one, at a path, or this user's latest."""
    if name is not None and name != LATEST:
        path = Path(name) if (Path(name) / PLAN_FILE).exists() else runs_folder / name
        return RunFolder(path if path.is_dir() else _only(runs_folder, name))
    runs = [run for run in run_folders(runs_folder) if run.stat().st_uid == os.getuid()]
    if not runs:
        raise UserError(f"no run of yours in {runs_folder}: start one with `pyscale run pipeline`")
    return RunFolder(runs[-1])


def _only(runs_folder: Path, name: str) -> Path:
    runs = run_folders(runs_folder)
    found = [run for run in runs if run.name.startswith(name) or run.name.endswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        # From the last, the newest, backwards.
        newest = ", ".join(run.name for run in found[: -MOST_NAMED - 1 : -1])
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        raise UserError(
            f"{len(found)} runs in {runs_folder} start or end with {name}: {newest}{more}; "
            "give more of the id"
        )
    raise UserError(f"unknown run {name} in {runs_folder}: `pyscale runs` lists the runs")
