"""Runs that are planned on a small movie, and whose tasks only pretend to run."""

import json
from collections import defaultdict, deque

import numpy as np
import pytest

from mockexecutor import MockEnd, MockExecutor
from pyscale.measuring.benchmark import execute
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.sites import Site
from pyscale.planning.suite import load_suite
from pyscale.runtimes.starting import with_images
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import read_task
from pyscale_stages.moviewriter import write_movie

PIPELINE = load_suite("pipeline")
FAILED = MockEnd(returncode=1)


class Killed(BaseException):
    """What ends a pyscale without a word."""


def site(**fields):
    """A cluster, with any field replaced."""
    return Site.model_validate({"name": "mine", "summary": "a cluster"} | fields)


def small_movie(folder):
    """A real file of eight small frames."""
    path = folder / "movie.ome.tif"
    write_movie(path, np.zeros((8, 4, 4), np.uint16), "TYX")
    return Dataset(path, frames=8)


def plan_of(
    suite,
    dataset,
    folder,
    /,
    workers=(1,),
    only=(),
    on_site=None,
    own_data=None,
    **settings,
):
    """Plan a suite, twice for each configuration unless settings say otherwise."""
    given = {"repeats": 2, "runs_folder": folder} | settings
    plan = make_plan(
        suite,
        dataset,
        run_id=new_run_id(),
        settings=Settings(**given).model_dump(mode="json"),
        workers=workers,
        only=only,
        site=on_site,
        own_data=own_data,
    )
    return with_images(plan)


def alone(suite, *entries):
    """A suite of some of its entries, each on one thread."""
    stages = {one: suite.stages[one].model_copy(update={"threads": 1}) for one in entries}
    return suite.model_copy(update={"stages": stages})


def done_run(folder, executor=None, **changes):
    """Carry out the pipeline on the small movie at N = 1 and 2, with any setting replaced."""
    given = {"workers": (1, 2)} | changes
    plan = plan_of(PIPELINE, small_movie(folder), folder / "runs", **given)
    return carried_out(plan, folder, executor)


def carried_out(plan, folder, executor=None):
    """The run of a plan, in a folder `runs`, when its tasks have ended."""
    run = RunFolder.create(folder / "runs", plan)
    carry_out(run, executor)
    return run


def carry_out(run, executor=None):
    """Carry out a run on pretended workers, whose tasks end well; what of it is not complete."""
    return execute(run, executor or MockExecutor(), lambda _event: None)


def ending(trial, task, *ends):
    """One task ends so, one end a time and then well; None kills pyscale."""
    left = deque(ends)

    def behaviour(this_trial, this_task, _spec):
        if (this_trial, this_task) != (trial, task) or not left:
            return MockEnd()
        end = left.popleft()
        if end is None:
            raise Killed
        return end

    return behaviour


def failing(trial, task, *, times=9, code=1):
    """An executor on which one task fails the first few times."""
    return MockExecutor(ending(trial, task, *[MockEnd(returncode=code)] * times))


def killed_at(run, trial, task, **executor):
    """Carry a run out until pyscale is killed while a task runs."""
    with pytest.raises(Killed):
        carry_out(run, MockExecutor(ending(trial, task, None), **executor))


def result_of(run, trial, task):
    found = read_task(run.task(run.plan.trial(trial), task)).result
    assert found is not None, f"{trial}/{task} has no result"
    return found


def tell(run, trial, task, record="result.json", **keys):
    """Let a record of a task say more, as its stage or a cluster would have written it."""
    file = run.task(run.plan.trial(trial), task) / record
    file.write_text(json.dumps(json.loads(file.read_text()) | keys, default=str))


def tell_samples(run, trial, task, *found, **keys):
    """Let a task have measured these, and have said more."""
    samples = defaultdict(list)
    for one in found:
        samples[one.kept_as].append(one.model_dump(mode="json"))
    tell(run, trial, task, samples=samples, **keys)


def events_of(run, *kinds, trial=None):
    """What the journal tells, of all kinds and trials unless some are given."""
    return [
        event
        for event in Journal(run.journal_file).read()
        if (not kinds or event.kind in kinds) and trial in (None, event.trial)
    ]
