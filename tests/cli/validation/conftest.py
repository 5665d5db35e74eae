"""A pretended run of the suite validation, which gave what is expected."""

import hashlib
import json

import pytest

from mockexecutor import MockEnd, MockExecutor
from pyscale.measuring.benchmark import execute
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import load_suite
from pyscale.store.folder import RunFolder
from pyscale.store.records import RESULT_FILE
from pyscale.validation.judging import load_expected


@pytest.fixture
def plan(make_of, movie):
    """Plan the suite validation on a small movie, with any setting replaced."""

    def of(workers=(1,), **changes):
        truth = Dataset(movie, frames=8, truth=movie.parent / "truth")
        given = {"data": "validation-cells"} | changes
        return make_of(load_suite("validation"), workers, dataset=truth, **given)

    return of


@pytest.fixture
def expected(movie):
    """What is expected of the suite, but on the small movie."""
    sha256 = hashlib.sha256(movie.read_bytes()).hexdigest()
    return load_expected("validation").model_copy(update={"inputs": {movie.name: sha256}})


@pytest.fixture
def carried_out(expected, tmp_path):
    """Pretend to carry a plan out, in an installation that is right."""

    def of(plan, behaviour=lambda _trial, _task, _spec: MockEnd()):
        run = RunFolder.create(tmp_path / "runs", plan)
        execute(run, MockExecutor(behaviour), lambda _event: None)
        for trial in plan.trials:
            for task in trial.tasks:
                path = run.task(trial, task) / RESULT_FILE
                if path.is_file():
                    told = json.loads(path.read_bytes())
                    _give(told, task, trial.output_task, expected, trial.entry)
                    path.write_text(json.dumps(told))
        return run

    return of


def _give(told, task, output_task, expected, entry):
    """Let the record of a task say what is expected of it."""
    stage = expected.stages[entry]
    if task == output_task:
        told["outputs"] = [
            {"name": name, "size_bytes": 1, "sha256": sha256}
            for name, sha256 in stage.outputs.items()
        ]
        told["counters"]["objects"] = int(stage.at_least.get("objects", 0))
    if task == "check":
        told["quality"] = {**stage.at_most, **stage.at_least}
        told["quality"].pop("objects", None)
