"""Where a run stands is told from its files alone."""

from __future__ import annotations

import pytest

from pyscale.benchmark import execute
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.status import run_status
from pyscale.store.folder import RunFolder
from pyscale.store.lock import run_lock
from pyscale_stages.contract import TaskSpec


def test_a_new_run_is_planned(run: RunFolder) -> None:
    status = run_status(run)
    assert status.state == "planned"
    assert sum(row.total for row in status.configurations) == len(run.plan.trials)


def test_a_finished_run_is_complete(run: RunFolder) -> None:
    execute(run, MockExecutor(), lambda _event: None)
    status = run_status(run)
    assert status.state == "complete"
    assert all(row.done == row.total for row in status.configurations)
    assert (status.running, status.failures, status.eta_s) == ((), (), None)


def test_a_failure_is_told_with_its_reason(run: RunFolder) -> None:
    def behaviour(trial: str, task: str, _spec: TaskSpec) -> MockEnd:
        return MockEnd(returncode=1 if (trial, task) == ("track-n2-b1", "w1") else 0)

    execute(run, MockExecutor(behaviour), lambda _event: None)
    status = run_status(run)
    assert status.state == "incomplete"
    assert status.failures == ("track-n2-b1: mock failure in w1",)
    failed = {(row.entry, row.workers): row.failed for row in status.configurations}
    assert failed["track", 2] == 1
    assert sum(failed.values()) == 1


def test_a_run_under_way_has_an_end_in_sight(run: RunFolder) -> None:
    seen = []

    def behaviour(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
        if trial == run.plan.trials[-1].id:
            seen.append(run_status(run))
        return MockEnd()

    execute(run, MockExecutor(behaviour), lambda _event: None)
    assert seen[0].state == "running"
    assert seen[0].eta_s is not None
    assert sum(row.done for row in seen[0].configurations) == len(run.plan.trials) - 1


def test_a_run_whose_pyscale_died_is_interrupted(run: RunFolder) -> None:
    class Killed(BaseException):
        pass

    def behaviour(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
        if trial == run.plan.trials[5].id:
            raise Killed
        return MockEnd()

    with pytest.raises(Killed):
        execute(run, MockExecutor(behaviour), lambda _event: None)
    assert run_status(run).state == "interrupted"
    with run_lock(run.path):
        assert run_status(run).state == "running"
