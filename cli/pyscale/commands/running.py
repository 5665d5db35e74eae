"""The commands that start, resume, detach and cancel a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psutil

from pyscale.commands.dryrun import show as show_plan
from pyscale.console import answer, talk
from pyscale.doctor.preflight import before_run, of_dry_run, say
from pyscale.errors import UserError
from pyscale.executors.submission import end_jobs
from pyscale.interruption import ENDING
from pyscale.measuring.blocks import extended, what_time_bought
from pyscale.measuring.following import Queued
from pyscale.measuring.holding import executor_here, work
from pyscale.planning.plan import Plan
from pyscale.planning.suite import Suite
from pyscale.planning.traits import DATA
from pyscale.processes import wait_until_ended
from pyscale.progress.status import run_status
from pyscale.progress.statusview import RunProgress
from pyscale.report.bottomline import bottom_line
from pyscale.report.sentences import missed, not_to_be_trusted
from pyscale.report.terminal import learned, summary_of
from pyscale.report.write import PAGE_NAME
from pyscale.settings import load_settings
from pyscale.starting import carried_by, created, planned
from pyscale.store.allocations import set_cancelled
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.journal import Journal
from pyscale.store.lock import is_locked, run_lock, writer_here
from pyscale.store.provenance import changed_code, refuse_changed_input
from pyscale.store.taskfiles import fails_again
from pyscale_stages.wording import plural

EXIT_INCOMPLETE = 1
EXIT_INVALID = 1
EXIT_INTERRUPTED = 130


class Course(NamedTuple):
    """How a run is carried out, as flags say."""

    detach: bool
    strict: bool
    verbose: bool

    def refuse_early_end(self, *, dry_run: bool = False) -> None:
        """Raise where this process ends before anything is measured that `--strict` could fail."""
        if self.strict and (self.detach or dry_run):
            raise UserError(
                "--strict fails where a measured output is not the baseline's, and with "
                f"{'--dry-run' if dry_run else '--detach'} nothing is measured yet: leave out one "
                "of them"
            )


def start(
    suite: str | Suite | None,
    flags: dict[str, Any],
    only: Sequence[str],
    course: Course,
    *,
    accept_terms: bool,
    dry_run: bool,
) -> int:
    """Plan a new run and carry it out; return the exit code."""
    course.refuse_early_end(dry_run=dry_run)
    plan = planned(suite, flags, only, accept_terms=accept_terms)
    if dry_run:
        found = of_dry_run(plan)
        show_plan(plan, found)
        say(found)
        return 0
    if course.strict:
        _refuse_blind_gate(plan)
    return _carry_out(created(plan), course)


def resume(name: str, course: Course) -> int:
    """Finish a run that was interrupted; return the exit code."""
    course.refuse_early_end()
    run = _run_to_go_on_with(name)
    if course.strict:
        _refuse_blind_gate(run.plan)
    # Slurm has taken its jobs, and some may still hold what their kind is allowed.
    before_run(run.plan, asks_slurm=False)
    return _carry_out(run, course)


def extend(name: str, repeats: int, course: Course) -> int:
    """Add trials to a run and measure them, and what else it misses; return the exit code."""
    course.refuse_early_end()
    run = _run_to_go_on_with(name)
    with run_lock(run.path):
        # Another pyscale may have extended it meanwhile.
        run = RunFolder(run.path)
        plan = extended(run.plan, repeats)
        if course.strict:
            _refuse_blind_gate(plan)
        if (changed := changed_code(run.path)) is not None:
            talk(f"warning: {changed}")
        refuse_changed_input(run.path, plan.movies | plan.truths, plan.readings)
        before_run(plan)
        what = plural(len(plan.trials) - len(run.plan.trials), "trial")
        run.replace_plan(plan)
        Journal(run.journal_file).append("run_extended", detail=what)
    talk(f"extended {run.path.name} by {what}")
    return _carry_out(run, course)


def _run_to_go_on_with(name: str) -> RunFolder:
    """A run of this user, made safe."""
    run = find_run(load_settings().runs_folder, name)
    if not os.access(run.path, os.W_OK):
        raise UserError(
            f"the run {run.path.name} cannot be finished, because {run.path} may not be written "
            "into: ask who owns it, or start a run of your own"
        )
    if run.other_owner is not None:
        raise UserError(
            f"the run {run.path.name} belongs to {run.other_owner}, and you would execute what it "
            "orders: start a run of your own, or read what it does and copy its folder"
        )
    run.make_safe()
    return run


def cancel(name: str | None) -> None:
    """End a run's pyscale and its tasks."""
    run = find_run(load_settings().runs_folder, name)
    status = run_status(run)
    state = status.state
    # Jobs may have outlived a cancellation to which Slurm did not answer.
    over = state == "cancelled" and run.plan.site is None and not status.left_running
    if state == "complete" or over:
        raise UserError(f"the run {run.path.name} is {state}: there is nothing to cancel")
    run.make_safe()
    journal = Journal(run.journal_file)
    ended = None
    if run.plan.site is not None:
        # First, as a pilot that begins and a pyscale that follows look for it. Both end by
        # themselves, and let go of the run.
        set_cancelled(run.path, cancelled=True)
        jobs = end_jobs(run, lambda kind, detail: journal.append(kind, detail=detail))
        ended = plural(jobs, "job")
    elif run.plan.queue is not None:
        ended = plural(Queued(run, lambda _event: None).cancel(), "job")
    elif is_locked(run.path):
        process = writer_here(run.path)
        with suppress(psutil.NoSuchProcess):
            process.terminate()
        wait_until_ended([process])
    with run_lock(run.path):
        ended = ended or plural(executor_here(run).end_all(), "process")
        journal.append("run_cancelled", detail=f"{ended} ended")
    talk(f"cancelled; finish it with: pyscale resume {run.path.name}")


def work_off(name: str) -> None:
    """Run what is left of a run in this process."""
    # Who started it kept these from itself meanwhile, and so from it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    run = _run_to_go_on_with(name)
    if run.plan.site is not None and "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"the run {run.path.name} is worked off in jobs of Slurm: go on with `pyscale resume "
            f"{run.path.name}`"
        )
    work(str(run.path))


def _carry_out(run: RunFolder, course: Course) -> int:
    plan = run.plan
    if course.detach:
        carried_by(run, lambda _event: None).begin()
        talk(f"follow it with: pyscale status {run.path.name} --watch")
        print(run.path.name)  # noqa: T201 - the command's answer
        return 0
    progress = RunProgress(run, Journal(run.journal_file).read())
    carried = carried_by(run, progress.hear)
    try:
        with progress:
            incomplete, results = carried.finish()
    except KeyboardInterrupt:
        talk(carried.what_goes_on())
        return EXIT_INTERRUPTED
    answer(summary_of(results, verbose=course.verbose, with_quality=plan.truth is not None))
    doubted = [*not_to_be_trusted(results.configurations), *missed(results)]
    for sentence in doubted:
        talk(sentence)
    if incomplete:
        again = "once the cause is mended, finish them" if fails_again(run) else "try them again"
        talk(
            f"{len(incomplete)} of {len(plan.trials)} trials are not complete: "
            f"see `pyscale status {plan.run_id}`; {again} with "
            f"`pyscale resume {plan.run_id}`"
        )
    # Who asks whether results are right wants no workers of so small a movie.
    elif results.validation is None and not results.about_workers().configurations.is_empty():
        talk(f"lines to paste: pyscale advise {plan.run_id}")
    if run.plan.settings.get("at_most") and results.trials["valid"].any():
        talk(what_time_bought(RunFolder(run.path), results))
    if (short := learned(bottom_line(results))) is not None:
        talk(short)
    carried.wait_for_report()
    talk(f"report: {run.report / PAGE_NAME}")
    if incomplete:
        return EXIT_INCOMPLETE
    is_wrong = results.validation is not None and results.validation.verdict != "right"
    return EXIT_INVALID if is_wrong or (course.strict and doubted) else 0


def _refuse_blind_gate(plan: Plan) -> None:
    """Raise where a strict run would compare nothing, and so pass whatever it computes."""
    if told := DATA[plan.suite.data].never_same:
        raise UserError(
            f"--strict fails where an output is not the baseline's, and {told} never are the same: "
            "leave it out"
        )
    # What a suite asks of quality is a gate too.
    if any(step.at_least or step.at_most for step in plan.suite.stages.values()):
        return
    if not any("check" in trial.tasks and not trial.is_reference for trial in plan.trials):
        raise UserError(
            "--strict fails where an output is not the baseline's, and this run compares none, "
            "because workers at each N have frames of their own or there is one trial alone: "
            "leave it out, or give several --workers of --scaling strong"
        )
