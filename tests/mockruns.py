"""Runs that are planned on a small movie, and whose tasks only pretend to run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commandline import Answer
from pyscale.baseversion import BaseVersion
from pyscale.benchmark import Outcome, execute
from pyscale.executors.mock import Behaviour, MockEnd, MockExecutor
from pyscale.plan import Plan
from pyscale.planning import Dataset, make_plan
from pyscale.settings import Settings
from pyscale.sites import Site
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Event, Journal
from pyscale.store.taskfiles import read_task
from pyscale.suite import Suite, load_suite
from pyscale_stages.contract import TaskResult, TaskSpec
from pyscale_stages.moviewriter import write_movie

PlanMaker = Callable[..., Plan]
RunMaker = Callable[..., RunFolder]
Command = Callable[..., Answer]
"""Runs a command of pyscale; a run among its words is named by its folder."""

PIPELINE = load_suite("pipeline")
FAILED = MockEnd(returncode=1)


class Killed(BaseException):
    """What ends a pyscale without a word."""


def site(**fields: Any) -> Site:
    """A cluster, with any field replaced."""
    return Site.model_validate({"name": "mine", "summary": "a cluster"} | fields)


def small_movie(folder: Path) -> Dataset:
    """A real file of eight small frames."""
    path = folder / "movie.ome.tif"
    write_movie(path, np.zeros((8, 4, 4), np.uint16), "TYX")
    return Dataset(path, frames=8)


def plan_of(
    suite: Suite,
    dataset: Dataset | None,
    folder: Path,
    /,
    workers: tuple[int, ...] = (1,),
    only: tuple[str, ...] = (),
    on_site: Site | None = None,
    base: BaseVersion | None = None,
    **settings: Any,
) -> Plan:
    """Plan a suite, twice for each configuration unless settings say otherwise."""
    given: dict[str, Any] = {"repeats": 2, "runs_folder": folder} | settings
    return make_plan(
        suite,
        dataset,
        run_id=new_run_id(),
        settings=Settings(**given).model_dump(mode="json"),
        workers=workers,
        only=only,
        site=on_site,
        base=base,
    )


def done_run(folder: Path, executor: MockExecutor | None = None, **changes: Any) -> RunFolder:
    """Carry out the pipeline on the small movie at N = 1 and 2, with any setting replaced."""
    given: dict[str, Any] = {"workers": (1, 2)} | changes
    plan = plan_of(PIPELINE, small_movie(folder), folder / "runs", **given)
    return carried_out(plan, folder, executor)


def carried_out(plan: Plan, folder: Path, executor: MockExecutor | None = None) -> RunFolder:
    """The run of a plan, in a folder `runs`, when its tasks have ended."""
    run = RunFolder.create(folder / "runs", plan)
    carry_out(run, executor)
    return run


def carry_out(run: RunFolder, executor: MockExecutor | None = None) -> Outcome:
    """Carry out a run on pretended workers, all of whose tasks end well unless others are given."""
    return execute(run, executor or MockExecutor(), lambda _event: None)


def ending(trial: str, task: str, *ends: MockEnd | None) -> Behaviour:
    """One task ends so, one end a time and then well; None kills pyscale."""
    left = deque(ends)

    def behaviour(this_trial: str, this_task: str, _spec: TaskSpec) -> MockEnd:
        if (this_trial, this_task) != (trial, task) or not left:
            return MockEnd()
        end = left.popleft()
        if end is None:
            raise Killed
        return end

    return behaviour


def failing(trial: str, task: str, *, times: int = 9, code: int | None = 1) -> MockExecutor:
    """An executor on which one task fails the first few times."""
    return MockExecutor(ending(trial, task, *[MockEnd(returncode=code)] * times))


def killed_at(run: RunFolder, trial: str, task: str, **executor: Any) -> None:
    """Carry a run out until pyscale is killed while a task runs."""
    with pytest.raises(Killed):
        carry_out(run, MockExecutor(ending(trial, task, None), **executor))


def result_of(run: RunFolder, trial: str, task: str) -> TaskResult:
    """What a task left."""
    found = read_task(run.task(run.plan.trial(trial), task)).result
    assert found is not None, f"{trial}/{task} has no result"
    return found


def events_of(run: RunFolder, *kinds: str, trial: str | None = None) -> list[Event]:
    """What the journal tells, of all kinds and trials unless some are given."""
    return [
        event
        for event in Journal(run.journal_file).read()
        if (not kinds or event.kind in kinds) and trial in (None, event.trial)
    ]
