"""The pilot: runs trials of a run as steps of the job that it runs in."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from pyscale.errors import UserError
from pyscale.executors.steps import AllocationEndedError, StepExecutor, own_end_s, own_state
from pyscale.executors.submission import asked_by_window
from pyscale.interruption import ENDING, blocked, termination_as_interrupt
from pyscale.measuring.blocks import Blocks
from pyscale.measuring.trialrecords import is_complete
from pyscale.measuring.trialrunner import TrialRunner
from pyscale.planning.plan import Plan, Trial
from pyscale.progress.course import Course, usual_s
from pyscale.runtimes.starting import runtime_of
from pyscale.sbatch.held import SPARE
from pyscale.slurm.queue import SlurmSilent, cancel, ends_of
from pyscale.store.allocations import is_cancelled, read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.lock import writing
from pyscale.store.provenance import refuse_changed_input
from pyscale.store.taskfiles import forget_ends_by_another
from pyscale_stages.measure.nodename import node_name

PATIENCE_S = 300.0
"""How long to wait for who submitted this job, and holds the run until it has recorded that."""
MARGIN_S = 30.0
"""Time that is left unused at the end of an allocation: trials do not last equally long."""
NO_TIME = "no time for the next trial"


def pilot(run: RunFolder) -> bool:
    """Run what is left of a run in this job; return whether the job is there for what follows."""
    job_id = os.environ["SLURM_JOB_ID"]
    with writing(run.path, PATIENCE_S), termination_as_interrupt():
        # Another pyscale may have extended the plan meanwhile.
        run = RunFolder(run.path)
        journal = Journal(run.journal_file)
        allocations = read_allocations(run.path)
        known = allocations.job_ids
        course = Course(journal.read())
        left = trials_left(run, course)
        # One that nobody recorded, or that follows one which has finished, has nothing to do.
        if not left or job_id not in known or course.stopped or is_cancelled(run.path):
            return False
        before = allocations.jobs[known.index(job_id)].after
        if before is not None and _was_cancelled(before):
            # Who cancelled that one wants the run to end; nobody may follow it who says so.
            detail = f"job {before} was cancelled: {go_on(run.path)}"
            journal.append("run_stopped", detail=detail)
            return False
        journal.append("pilot_started", job_ids=(job_id,), detail=f"on {node_name()}")
        job = allocations.jobs[known.index(job_id)]
        own = [trial for trial in left if job.runs(trial.entry, trial.workers)]
        if waits_for := _unmade_input(left, own):
            detail = f"{waits_for} is not there: the job before ended early"
            journal.append("allocation_ended", job_ids=(job_id,), detail=detail)
            return True
        try:
            _work_off(run, job_id, own)
        except UserError as error:
            journal.append("run_stopped", detail=str(error))
        except (AllocationEndedError, KeyboardInterrupt):
            # Who follows the run asks Slurm why the job has ended, and goes on in another.
            return False
        course = Course(journal.read())
        if trials_left(run, course):
            if job_id in course.allocations:
                detail = "its trials have ended; those of other jobs are left"
                journal.append("allocation_ended", job_ids=(job_id,), detail=detail)
            return True
        journal.append("run_finished")
        # One that lives on finds nothing left to do, and ends.
        with suppress(SlurmSilent):
            cancel([other for other in known if other != job_id])
        return True


def go_on(run: Path) -> str:
    """How to go on with a run that has ended before its last trial."""
    return f"go on with `pyscale resume {run.name}`"


def _was_cancelled(job_id: str) -> bool:
    """Whether Slurm says that a job was cancelled; its queue forgets, and not all keep accounts."""
    if own_state(job_id) == "CANCELLED":
        return True
    end = ends_of([job_id]).get(job_id)
    return end is not None and end.state == "CANCELLED"


def _unmade_input(left: Sequence[Trial], own: Sequence[Trial]) -> str | None:
    """A trial of another job that is left, and whose output trials of this one read."""
    waiting = {trial.id for trial in left}.difference(trial.id for trial in own)
    needed = {item.from_trial for trial in own for item in trial.inputs if item.from_trial}
    baselines = {trial.reference_trial for trial in own if trial.compared}
    return min((needed | baselines) & waiting, default=None)


def trials_left(run: RunFolder, course: Course) -> list[Trial]:
    """Trials of a run that have not ended since it was last started; a failed one has ended."""
    finished = {trial for trial, end in course.ends.items() if end.kind == "trial_finished"}
    return [
        trial
        for trial in run.plan.trials
        if trial.id not in course.ended and not (trial.id in finished and is_complete(run, trial))
    ]


def _work_off(run: RunFolder, job_id: str, left: Sequence[Trial]) -> None:
    """Run trials in their order as long as the allocation's time lasts."""
    site = run.plan.site
    assert site is not None, "only a cluster has allocations"
    course = Course(Journal(run.journal_file).read())
    journal = Journal(run.journal_file, course.hear)
    usual = usual_s(run.plan)
    refuse_changed_input(run.path, run.plan.movies | run.plan.truths, run.plan.readings)
    executor = StepExecutor(run, site, journal, job_id)
    runner = TrialRunner(run, executor, journal, runtime_of(run))
    for trial in left:
        if trial.id in course.begun:
            # Slurm ended its tasks with the allocation before, which is no failure of theirs.
            forget_ends_by_another(run.trial(trial), trial.tasks)
    begun, blocks = False, Blocks(run, journal)
    try:
        while left:
            for number, trial in enumerate(left):
                # The first is begun in any case: a new allocation would have no more time for it.
                end_s = own_end_s(job_id) if begun else None
                needed_s = likely_s(run.plan, course, trial, usual) + MARGIN_S
                if end_s is not None and time.time() + needed_s >= end_s:
                    detail = f"{NO_TIME}; trials left: {len(left) - number}"
                    journal.append("allocation_ended", job_ids=(job_id,), detail=detail)
                    return
                runner.finish(trial)
                begun = True
                if course.why_stop is not None:
                    raise UserError(course.why_stop)
            left = [] if trials_left(run, course) else blocks.added()
    except BaseException:
        # Slurm asks again, and that must not leave half of it running.
        with blocked(*ENDING):
            executor.end_all()
        raise


def likely_s(
    plan: Plan, course: Course, trial: Trial, usual: Mapping[str, float] = MappingProxyType({})
) -> float:
    """The longest that a trial of the same entry and N has taken, or what is known instead.

    That is what it took in earlier runs, another N of the entry, or the time limit of its tasks.
    """
    longest_s = course.longest_s([trial])
    if longest_s is not None:
        return longest_s
    if trial.id in usual:
        return SPARE * usual[trial.id]
    same = (one.id for one in plan.trials if one.entry == trial.entry)
    of_entry = [course.durations_s[one] for one in same if one in course.durations_s]
    if of_entry:
        return max(of_entry)
    assert plan.site is not None
    return 60.0 * asked_by_window(plan, trial, plan.site).time_min
