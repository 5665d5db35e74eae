"""`pyscale advise`: which N to request, why, and what to paste for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from pyscale.advicesource import Measured, measured_run, measured_table
from pyscale.analysis.advice import Choice, Objective, choices
from pyscale.analysis.causes import Limits, limits
from pyscale.analysis.drift import drifts
from pyscale.analysis.requests import Request, request_of
from pyscale.analysis.scaling import configurations
from pyscale.console import answer, harmless
from pyscale.errors import UserError
from pyscale.nextruns import experiments_of, next_runs, threads_of
from pyscale.origin import adds_up
from pyscale.plan import Plan
from pyscale.report.advice import Advice, RankAdvice, StageAdvice, doubts, excluded, limits_near
from pyscale.report.adviceview import shown
from pyscale.report.bottomline import bottom_line
from pyscale.report.context import ReportContext
from pyscale.report.curves import Curve, curves
from pyscale.report.directives import Dialect, directives
from pyscale.report.measured import worse
from pyscale.report.ranks.kinds import rank_advice
from pyscale.report.results import Results
from pyscale.report.starts import headlines
from pyscale.report.warned import said, shortly
from pyscale.settings import load_settings
from pyscale.sites import Site, load_site
from pyscale.traits import meets, stands_apart
from pyscale_stages.contract import Stage
from pyscale_stages.registry import load_stage


def advise(
    name: str | None,
    table: Path | None,
    *,
    objective: Objective | None,
    worker_hours: float | None,
    dialect: Dialect,
    site: str | None,
    as_json: bool,
    why: bool = False,
) -> None:
    """Print the lines that request the best N of each stage, and the request in words.

    Parameters
    ----------
    name : str or None
        A run by id or folder; None is the latest.
    table : Path or None
        A CSV of wall times instead of a run.
    objective : str or None
        None is every objective.
    worker_hours : float or None
        Budget of one pass over the movie.
    dialect : {"sbatch", "nextflow", "snakemake"}
        What the directives are for.
    site : str or None
        Site that they ask; None is the run's own, or that of the settings.
    as_json : bool
    why : bool
        Whether to print every choice, what limits it and what would settle it too.

    Raises
    ------
    UserError
        If the run or table cannot be used, nothing in it was timed, or the budget fits nothing.
    """
    _refuse_budget(objective, worker_hours)
    measured = measured_table(table) if table is not None else measured_run(name)
    found = _advice(measured, objective, worker_hours, dialect, _site(measured, site))
    if as_json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
        return
    for part in shown(found, why=why):
        if isinstance(part, str):
            # Lines to paste are not to be broken.
            print(harmless(part))  # noqa: T201
        else:
            answer(part)


def _refuse_budget(objective: Objective | None, worker_hours: float | None) -> None:
    if worker_hours is None:
        if objective == "budget":
            raise UserError("--objective budget needs --budget WORKER_HOURS, as in --budget 2.5")
        return
    if objective not in {None, "budget"}:
        raise UserError(f"--budget does not go with --objective {objective}: leave one of them out")
    if not (math.isfinite(worker_hours) and worker_hours > 0):
        raise UserError(f"--budget {worker_hours:g} must be a number of worker-hours above zero")


def _site(measured: Measured, name: str | None) -> Site:
    """The site that was named, else the run's own, else that of the settings."""
    if name is None and measured.plan is not None and measured.plan.site is not None:
        return measured.plan.site
    return load_site(name or load_settings().site)


def _advice(
    measured: Measured,
    objective: Objective | None,
    worker_hours: float | None,
    dialect: Dialect,
    site: Site,
) -> Advice:
    ranks = _of_ranks(measured)
    if ranks and _tasks_apart(measured).is_empty():
        if objective is not None or worker_hours is not None:
            raise UserError(
                f"{measured.title}: what ranks do together has one answer, not one for each "
                "objective: leave out --objective and --budget"
            )
        return Advice(
            title=measured.title,
            objective="knee",
            measured_for=measured.measured_for,
            stages=(),
            ranks=ranks,
            doubts=(),
            directives="",
        )
    trials = _without_lone_points(_of_processing(measured))
    table = configurations(trials, interleaved=measured.interleaved, drifts=drifts(trials))
    chosen = choices(
        table,
        trials,
        worker_hours=worker_hours,
        interleaved=measured.interleaved,
    )
    _refuse_budget_that_fits_nothing(chosen)
    # Directives are for one objective, or there would be several for one stage.
    wanted: Objective = objective or ("knee" if worker_hours is None else "budget")
    found = limits(trials, measured.workers)
    drawn = curves(table)
    asked = [one for one in chosen if objective in {None, one.objective}]
    stages = tuple(_of_curve(curve, asked, found, measured, wanted) for curve in drawn)
    requests = [stage.request for stage in stages if stage.request is not None]
    named = [(request, _stage(measured.plan, request.stage)) for request in requests]
    line = bottom_line(
        _results(measured, table, chosen=chosen, found=found, requests=requests), wanted
    )
    stages = tuple(
        stage.model_copy(
            update={name: getattr(one, name) for name in ("trust", "reasons", "notes")}
        )
        for stage, one in zip(stages, line.stages, strict=True)
    )
    return Advice(
        title=measured.title,
        objective=wanted,
        measured_for=measured.measured_for,
        stages=stages,
        ranks=ranks,
        doubts=(
            *(f"{one.head}: {one.sentence}" for one in said(trials) if one.doubts_result),
            *doubts(drawn),
        ),
        directives=directives(dialect, named, site) if named else "",
        warnings=tuple(shortly(one) for one in said(trials) if one.doubts_result),
        line=line,
        starts=() if measured.starts is None else tuple(headlines(measured.starts)),
        worse=tuple(worse(measured.measures)),
    )


def _results(
    measured: Measured,
    table: pl.DataFrame,
    *,
    chosen: list[Choice],
    found: list[Limits],
    requests: list[Request],
) -> Results:
    """What a bottom line is drawn from, without what only a report needs."""
    plan = measured.plan
    return Results(
        configurations=table,
        trials=measured.trials,
        losses=measured.trials.clear(),
        fits=[],
        drifts=[],
        limits=found,
        choices=chosen,
        requests=requests,
        context=ReportContext(
            title=measured.title,
            works=dict(measured.works),
            adds_up=None if plan is None else adds_up(plan),
        ),
        next_runs=next_runs(curves(table), chosen, found, plan, measured.cores),
    )


def _of_processing(measured: Measured) -> Measured:
    """What was measured of independent tasks: wall times of others give no N to request.

    Raises
    ------
    UserError
        If nothing else was measured.
    """
    trials = _tasks_apart(measured)
    if trials.is_empty() and measured.plan is not None and measured.plan.entries_that(meets):
        raise UserError(
            f"{measured.title}: no trial of its ranks counts, so there is nothing to advise; see "
            "`pyscale status`"
        )
    if trials.is_empty():
        raise UserError(
            f"{measured.title}: it measured the machine itself, for which there is no N to "
            "request; its report says what the machine can do"
        )
    return replace(measured, trials=trials)


def _tasks_apart(measured: Measured) -> pl.DataFrame:
    """Trials of independent tasks; of two versions the new one is what will be run."""
    if measured.plan is None:
        return measured.trials
    others = measured.plan.entries_that(stands_apart).union(measured.plan.versions.values())
    return measured.trials.filter(~pl.col("stage").is_in(sorted(others)))


def _of_ranks(measured: Measured) -> tuple[RankAdvice, ...]:
    """What is advised of ranks, whose doubts are of all their trials."""
    if measured.plan is None or not measured.plan.entries_that(meets):
        return ()
    table = configurations(measured.trials, interleaved=measured.interleaved)
    return tuple(rank_advice(measured.ranks, table))


def _without_lone_points(measured: Measured) -> pl.DataFrame:
    """Trials but those of points of a grid that have one N: there is none to choose among.

    Raises
    ------
    UserError
        If no others are left.
    """
    plan, trials = measured.plan, measured.trials
    steps = {} if plan is None else plan.suite.stages
    points = [entry for entry, step in steps.items() if step.family is not None]
    lone = pl.col("stage").is_in(points) & (pl.col("workers").n_unique().over("stage") == 1)
    left = trials.filter(~lone)
    if left.is_empty() and not trials.is_empty():
        raise UserError(
            f"{measured.title}: every point of its grid was measured at one N, so there is none to "
            "choose; its report compares the points, and --workers 1,2,4 measures several N"
        )
    return left


def _refuse_budget_that_fits_nothing(chosen: Sequence[Choice]) -> None:
    of_budget = [choice for choice in chosen if choice.objective == "budget"]
    if of_budget and all(choice.workers is None for choice in of_budget):
        told = "; ".join(f"{choice.stage}: {choice.refusal}" for choice in of_budget)
        raise UserError(
            f"no N can be given for --budget ({told}): give a larger one, or leave it out"
        )


def _of_curve(
    curve: Curve,
    chosen: Sequence[Choice],
    found: Sequence[Limits],
    measured: Measured,
    wanted: Objective,
) -> StageAdvice:
    own = [choice for choice in chosen if curve.owns(choice)]
    close = limits_near(curve, own, found)
    cpus = None if measured.plan is None else threads_of(measured.plan, curve.key["stage"])
    best = (choice for choice in own if choice.objective == wanted)
    return StageAdvice(
        name=curve.name,
        choices=tuple(own),
        limits=tuple(close),
        excluded=tuple(excluded(curve)),
        experiments=experiments_of(curve, own, close, measured.plan, measured.cores),
        request=next((request_of(one, measured.trials, cpus=cpus) for one in best), None),
    )


def _stage(plan: Plan | None, entry: str) -> Stage | None:
    return None if plan is None else load_stage(plan.suite.stage_name(entry))
