"""Trials: one by itself, and what those of a run left."""

from datetime import UTC, datetime

from watchfiles import watch

from pyscale.planning.plan import Trial
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    ORDER_FILE,
    ExitRecord,
    LaunchRecord,
    TaskOrder,
)
from pyscale.store.taskfiles import read_task
from pyscale_stages.atomic import write_atomically


def one_trial(stage, workers=1):
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


def outputs(run):
    """Hashes of what every task of a run left."""
    found = {}
    for trial in run.plan.trials:
        for task in trial.tasks:
            result = read_task(run.task(trial, task)).result
            assert result is not None, f"{trial.id}/{task} has no record"
            found[f"{trial.id}/{task}"] = tuple(sorted(o.sha256 for o in result.outputs))
    return found


def error_of(folder):
    record = read_task(folder)
    assert record.error is not None, f"{folder} is {record.state}"
    assert record.state == "failed"
    return record.error


def ended(folder):
    return ExitRecord.model_validate_json((folder / EXIT_FILE).read_bytes())


def begin_task(folder):
    """Leave the record that a launcher of the present order leaves at the start."""
    token = TaskOrder.model_validate_json((folder / ORDER_FILE).read_bytes()).token
    now = datetime.now(UTC)
    record = LaunchRecord(token=token, pid=1, node="n1", begin_utc=now, spawn_utc=now, cpus=(0,))
    write_atomically(folder / LAUNCH_FILE, record.model_dump_json())


def end_task(folder, returncode=0, token=None):
    """Leave the exit record that a launcher leaves, of the order or of another token."""
    token = token or TaskOrder.model_validate_json((folder / ORDER_FILE).read_bytes()).token
    record = ExitRecord(token=token, returncode=returncode, end_utc=datetime.now(UTC))
    write_atomically(folder / EXIT_FILE, record.model_dump_json())


def launched(folder):
    return LaunchRecord.model_validate_json((folder / LAUNCH_FILE).read_bytes())


def wait_until_it_says(folder):
    """Return when the program of a task has said something."""
    said = folder / "stdout"
    for _ in watch(folder, rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        if said.exists() and said.read_text():
            return
    raise AssertionError("the watch ended")
