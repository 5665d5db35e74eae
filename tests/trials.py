"""Trials: one by itself, and what those of a run left."""

from __future__ import annotations

from pathlib import Path

from pyscale.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.records import EXIT_FILE, LAUNCH_FILE, ExitRecord, LaunchRecord
from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import TaskError


def one_trial(stage: str, workers: int = 1) -> Trial:
    """A trial whose tasks are given by other means: of each worker one, on a frame."""
    return Trial(
        id=f"{stage}-n{workers}-b1",
        entry=stage,
        stage=stage,
        workers=workers,
        block=1,
        device="cpu",
        windows=tuple((frame, frame + 1) for frame in range(workers)),
        inputs=(),
        params={},
        truth=None,
        reference_trial=f"{stage}-n{workers}-b1",
    )


def outputs(run: RunFolder) -> dict[str, tuple[str, ...]]:
    """Hashes of what every task of a run left."""
    found = {}
    for trial in run.plan.trials:
        for task in trial.tasks:
            result = read_task(run.task(trial, task)).result
            assert result is not None, f"{trial.id}/{task} has no record"
            found[f"{trial.id}/{task}"] = tuple(sorted(o.sha256 for o in result.outputs))
    return found


def error_of(folder: Path) -> TaskError:
    """Why a task failed."""
    record = read_task(folder)
    assert record.error is not None, f"{folder} is {record.state}"
    assert record.state == "failed"
    return record.error


def ended(folder: Path) -> ExitRecord:
    """How the process of a task ended."""
    return ExitRecord.model_validate_json((folder / EXIT_FILE).read_bytes())


def launched(folder: Path) -> LaunchRecord:
    """Where and how the process of a task was started."""
    return LaunchRecord.model_validate_json((folder / LAUNCH_FILE).read_bytes())
