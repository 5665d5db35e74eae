"""Which N to request, why, and what to paste for it, from what a report shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pyscale.analysis.advice import ALWAYS, Aim, Objective, choices
from pyscale.analysis.resource_request import request_of
from pyscale.errors import UserError
from pyscale.evaluation.results import ReportOptions, cores_of, results_of, results_of_table
from pyscale.evaluation.runline import experiments_of, next_runs, threads_of
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site, load_site
from pyscale.progress.status import queue_waits_s
from pyscale.report.advice import Advice, StageAdvice, doubts, limits_near
from pyscale.report.bottomline import NAMES, bottom_line
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.directives import Dialect, directives
from pyscale.report.kinds import rank_advice
from pyscale.report.page import tables
from pyscale.report.results import Results
from pyscale.report.sentences import excluded, warnings, worse
from pyscale.settings import load_settings
from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.wording import grouped, listing, seconds_of
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural

LIMITS: dict[str, tuple[str, Callable[[str], float], float]] = {
    "min_efficiency": ("0.7", float, 1.0),
    "deadline": ("30min", seconds_of, math.inf),
    "budget": ("2.5 (worker-hours)", float, math.inf),
}
"""Objectives of the user's own limit: an example, how it is read, and the largest."""


def advice_of(
    source: RunFolder | Path,
    *,
    objective: str | None,
    dialect: Dialect,
    site: str | None,
) -> Advice:
    """Advise the best N of each stage of a run, or of a table of wall times."""
    aim = None if objective is None else _aim(objective)
    if isinstance(source, RunFolder):
        results, plan, waits_s = _of_run(source), source.plan, _waits_s(source)
    else:
        results, plan = results_of_table(source), None
        waits_s = dict(results.configurations.select("workers", "queue_s").drop_nulls().iter_rows())
    own = plan.site or plan.queue if plan is not None and site is None else None
    asked = own or load_site(site or load_settings().site)
    return _advice(results, plan, aim, waits_s, dialect=dialect, site=asked)


def _aim(text: str) -> Aim:
    """What is asked for, as in `fastest` or `deadline=30min`."""
    name, has_limit, limit = text.partition("=")
    if name not in NAMES:
        raise UserError(f"--objective {text}: it must be one of {', '.join(NAMES)}")
    if name not in LIMITS:
        if has_limit:
            raise UserError(f"--objective {text}: {name} takes no number")
        return Aim.model_validate({"objective": name})
    example, number_of, most = LIMITS[name]
    try:
        value = number_of(limit)
    except ValueError:
        value = math.nan
    if not 0 < value <= most or math.isinf(value):
        raise UserError(f"--objective {text}: give it as in {name}={example}")
    return Aim.model_validate({"objective": name, "limit": value})


def _of_run(run: RunFolder) -> Results:
    """What a report shows of a run, without writing into it."""
    results = results_of(run, options=ReportOptions(own_references=False), writes=False)
    if not results.trials["valid"].any():
        raise UserError(
            f"the run {run.path.name} has no timed trial: see `pyscale status {run.path.name}`, "
            f"and finish it with `pyscale resume {run.path.name}`"
        )
    return results


def _waits_s(run: RunFolder) -> dict[int, float]:
    """Wait in the queue of each N that had jobs of its own: the longest, of several."""
    jobs = read_allocations(run.path).jobs
    waits_s = queue_waits_s(jobs, Journal(run.journal_file).read())
    found: dict[int, float] = {}
    for job in jobs:
        if job.workers is not None and job.job_id in waits_s:
            found[job.workers] = max(found.get(job.workers, 0.0), waits_s[job.job_id])
    return found


def _advice(
    results: Results,
    plan: Plan | None,
    aim: Aim | None,
    waits_s: Mapping[int, float],
    *,
    dialect: Dialect,
    site: Site,
) -> Advice:
    title, measured_for = results.context.title, _measured_for(results.context)
    about, ranks = results.about_workers(), tuple(rank_advice(results))
    if about.trials.is_empty():
        if ranks and aim is not None:
            raise UserError(
                f"{title}: what ranks do together has one answer, not one for each objective: "
                "leave out --objective"
            )
        if not ranks:
            raise UserError(
                f"{title}: no stage was measured over numbers of workers, of which one could be "
                "chosen: its report has the results, and --workers 1,2,4 measures several"
            )
        return Advice(title=title, measured_for=measured_for, ranks=ranks)
    table, trials = about.configurations, about.trials
    chosen = choices(
        table,
        trials,
        aims=ALWAYS if aim is None else [*dict.fromkeys([*ALWAYS, aim])],
        waits_s=waits_s,
        interleaved=results.interleaved,
    )
    # Directives are for one objective, or there would be several for one stage.
    wanted: Objective = aim.objective if aim is not None else "knee"
    asked = [one for one in chosen if aim is None or one.objective == wanted]
    if all(choice.workers is None for choice in asked) and aim is not None:
        reasons = grouped((choice.refusal, choice.stage) for choice in asked)
        told = "; ".join(f"{listing(names)}: {reason}" for reason, names in reasons.items())
        raise UserError(f"no N can be given for {wanted} ({told})")
    drawn = curves(table)
    entries = () if plan is None else table["stage"].unique()
    cpus = {entry: threads_of(plan, entry) for entry in entries if plan is not None}
    requests = [
        request
        for one in asked
        if one.objective == wanted
        and (request := request_of(one, trials, cpus=cpus.get(one.stage)))
    ]
    named = [
        (one, None if plan is None else load_stage(plan.suite.stage_name(one.stage)))
        for one in requests
    ]
    # Workers that are ranks are started by one job.
    meeting = set() if plan is None else {trial.entry for trial in plan.trials if trial.meets}
    cores = cores_of(results.context)
    runs = next_runs(drawn, chosen, plan, cores, objective=wanted)
    about = replace(about, choices=chosen, requests=requests, next_runs=runs)
    line = bottom_line(about, wanted)
    stages = []
    for curve, own in zip(drawn, line.stages, strict=True):
        of_curve = [choice for choice in asked if curve.owns(choice)]
        stages.append(
            StageAdvice(
                name=curve.name,
                choices=tuple(of_curve),
                limits=tuple(limits_near(curve, of_curve, about.limits)),
                excluded=tuple(excluded(curve)),
                experiments=experiments_of(curve, of_curve, plan, cores),
                request=next(filter(curve.owns, requests), None),
                trust=own.trust,
                reasons=own.reasons,
                notes=own.notes,
            )
        )
    doubted = [one for one in warnings(trials) if one.doubts_result]
    return Advice(
        title=title,
        objective=wanted,
        measured_for=measured_for,
        stages=tuple(stages),
        ranks=ranks,
        doubts=(*(f"{one.head}: {one.sentence}" for one in doubted), *doubts(drawn)),
        directives=directives(dialect, named, site, meeting) if named else "",
        warnings=tuple(one.short for one in doubted),
        table=tables.choices(drawn, about),
        line=line,
        worse=tuple(worse(results.measured)),
    )


def _measured_for(context: ReportContext) -> str:
    """What was processed, and on what, where that is known."""
    if context.run_id is None:
        return context.measured_for
    machines: dict[str, None] = {}
    for found in context.hardware:
        named, cores = found.get("processor", "an unknown processor"), found.get("cores")
        named += f" with {plural(cores, 'core')}" if cores else ""
        named += "" if found["GPUs"] == "none" else f", {found['GPUs']}"
        machines[named] = None
    return f"{context.measured_for} on {' and '.join(machines) or 'unknown hardware'}"
