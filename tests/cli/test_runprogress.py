"""Progress of a run, where no terminal draws it: a line for what a person should know."""

from __future__ import annotations

import pytest

from pyscale.benchmark import execute
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.runprogress import RunProgress
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale_stages.contract import TaskSpec


def test_each_trial_that_ends_has_a_line(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    total = len(run.plan.trials)
    with RunProgress(run.plan) as progress:
        execute(run, MockExecutor(), progress.hear)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == total
    assert lines[0] == f"[1/{total}] {run.plan.trials[0].id} done"
    assert lines[-1].startswith(f"[{total}/{total}] ")


def test_a_failure_is_told_and_that_it_is_tried_again(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = run.plan.trials[0].id
    tries: list[str] = []

    def behaviour(this_trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
        tries.append(this_trial)
        return MockEnd(returncode=1 if tries == [trial] else 0)

    with RunProgress(run.plan) as progress:
        execute(run, MockExecutor(behaviour), progress.hear)
    failed, again, done, *_ = (
        line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()
    )
    assert failed.startswith(f"{trial} failed: ")
    assert again.startswith(f"{trial} tried again: ")
    assert done == f"{trial} done"


def test_a_slurm_that_falls_silent_is_told_at_once(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunProgress(run.plan) as progress:
        journal = Journal(run.journal_file, progress.hear)
        journal.append("slurm_silent", detail="squeue: Connection refused")
        journal.append("slurm_answers")
    assert [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "Slurm does not answer: squeue: Connection refused",
        "Slurm answers again",
    ]
