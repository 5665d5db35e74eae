"""The main path: suite -> plan -> execute -> store -> analyse -> report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyscale.data.ensure import find_movie, find_own_data
from pyscale.errors import UserError
from pyscale.evaluation.results import report_run
from pyscale.executors.protocol import Executor
from pyscale.interruption import ENDING, blocked, termination_as_interrupt
from pyscale.measuring.blocks import FEWEST, Blocks
from pyscale.measuring.trialrunner import TrialRunner
from pyscale.planning.placement import local_placement
from pyscale.planning.plan import Plan
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan, own_data_of
from pyscale.planning.resolve_grid import measured_suite, with_system
from pyscale.planning.sites import Site, load_site
from pyscale.planning.suite import Suite, suite_of
from pyscale.planning.sweep import powers_of_two
from pyscale.report.results import Results
from pyscale.runtimes.starting import runtime_of, with_images
from pyscale.runtimes.versions import fitted_to_versions
from pyscale.sbatch.held import held_trials, refuse_too_many_nodes
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Journal, Listener
from pyscale.store.lock import writing
from pyscale.store.provenance import refuse_changed_input
from pyscale_stages.measure.nodename import host_name

USUAL_ON_A_CLUSTER = 8
Incomplete = tuple[str, ...]
"""Trials of a run that are not complete, in the order of the plan."""


def plan_run(
    named: str | Suite,
    settings: Settings,
    only: Sequence[str] = (),
    *,
    accept_terms: bool = False,
    scripts_for: Site | None = None,
) -> Plan:
    """Plan a run of a suite, and fetch its data where they are absent.

    The nodes of the site that scripts are written for decide, as those of the run do, what of a
    grid there is.
    """
    site = None if settings.executor == "local" else _site_of(settings)
    suite = measured_suite(suite_of(named), settings, site or scripts_for, only)
    dataset, own_data = None, {}
    if suite.reads_data:
        own_data = find_own_data(settings, own_data_of(suite, only), accept_terms=accept_terms)
        dataset = find_movie(settings, suite, accept_terms=accept_terms)
    if settings.with_system:
        suite = with_system(suite, settings, site or scripts_for)
    data = [dataset, *own_data.values()]
    asked = settings.model_dump(mode="json")
    plan = make_plan(
        suite,
        dataset,
        run_id=new_run_id(),
        settings=asked | ({"repeats": FEWEST} if settings.at_most else {}),
        workers=settings.workers or _usual_workers(settings, suite, data),
        only=only,
        site=site,
        own_data=own_data,
    )
    plan = fitted_to_versions(with_images(plan))
    if plan.site is not None:
        refuse_too_many_nodes(plan, plan.site)
        if settings.at_most and len(held_trials(plan, plan.site)) > 1:
            raise UserError(
                "--at-most adds blocks in one job, and this run has one for each kind of node or "
                "N: give --repeats in its place"
            )
    return plan


def _site_of(settings: Settings) -> Site:
    """The site of a run that is not on this machine, whose scheduler is the one asked for."""
    site = load_site(settings.site)
    if (settings.executor == "job") != (site.scheduler is not None):
        fitting = "slurm" if site.scheduler is None else "job"
        raise UserError(
            f"--executor {settings.executor} does not go with the site {site.name}, whose file "
            f"{'has no' if fitting == 'slurm' else 'has a'} [scheduler]: use --executor {fitting}, "
            "or name another --site"
        )
    return site


def _usual_workers(
    settings: Settings, suite: Suite, datasets: Sequence[Dataset | None]
) -> tuple[int, ...]:
    """1, 2, 4 … as far as this machine has cores, or to 8 on a cluster; one for the machine."""
    if suite.data == "place":
        return (1,)
    most = USUAL_ON_A_CLUSTER
    if settings.executor == "local":
        sharing = (step for entry, step in suite.stages.items() if entry not in suite.measured_once)
        threads = max(step.cores or settings.cpus_per_worker for step in sharing)
        most = local_placement(threads).most_workers
    lengths = [dataset.frames for dataset in datasets if dataset is not None]
    if not suite.shares_no_frames:
        most = min([most, *(length // (suite.frames_per_worker or 1) for length in lengths)])
    return powers_of_two(max(1, most))


def benchmark(run: RunFolder, executor: Executor, listener: Listener) -> tuple[Incomplete, Results]:
    """Measure what is missing of the plan of a run, and report it."""
    with writing(run.path):
        return _execute(run, executor, listener), report_run(run)


def execute(run: RunFolder, executor: Executor, listener: Listener) -> Incomplete:
    """Run every trial of a plan that is not complete; what is complete stays as it is."""
    with writing(run.path):
        return _execute(run, executor, listener)


def _execute(run: RunFolder, executor: Executor, listener: Listener) -> Incomplete:
    journal = Journal(run.journal_file, listener)
    done: set[str] = set()
    with termination_as_interrupt(), attended(executor, journal):
        refuse_changed_input(run.path, run.plan.movies | run.plan.truths, run.plan.readings)
        runner = TrialRunner(run, executor, journal, runtime_of(run))
        # What a dead pyscale left: a process that has lost it cannot be waited for.
        strays = executor.end_all()
        journal.append("run_started", detail=f"process {os.getpid()} on {host_name()}")
        if strays:
            journal.append("jobs_ended", detail=str(strays))
        blocks, trials = Blocks(run, journal), run.plan.trials
        while trials:
            done |= {trial.id for trial in trials if runner.finish(trial)}
            whole = done.issuperset(trial.id for trial in run.plan.trials)
            trials = (*blocks.added(),) if whole else ()
        # A launcher that was killed may have left what mounted an image.
        executor.end_all()
        journal.append("run_finished")
    return tuple(trial.id for trial in run.plan.trials if trial.id not in done)


@contextmanager
def attended(executor: Executor, journal: Journal) -> Iterator[None]:
    """Where anything ends the block, a Ctrl-C, a full disk or another error, end what was started.

    What refuses to go on is written into the journal, where who follows the run reads it.
    """
    try:
        yield
    except BaseException as error:
        # A second Ctrl-C must not leave half of it running.
        with blocked(*ENDING):
            executor.end_all()
            if isinstance(error, KeyboardInterrupt):
                journal.append("run_interrupted")
            elif isinstance(error, UserError):
                journal.append("run_stopped", detail=str(error))
        raise
