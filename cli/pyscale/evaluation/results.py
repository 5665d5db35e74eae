"""From the records of runs: tables, manifest, analysis results, report and RO-Crate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from pyscale.analysis.advice import choices
from pyscale.analysis.causes import limits
from pyscale.analysis.findings import Findings
from pyscale.analysis.flags import without_invalid
from pyscale.analysis.grid.findings import GridFindings, grid_findings
from pyscale.analysis.laws import curve_fits
from pyscale.analysis.losses import loss_table
from pyscale.analysis.machine.findings import machine_findings
from pyscale.analysis.measured import measured_points, measured_trials
from pyscale.analysis.ranks.loader import loader_findings
from pyscale.analysis.ranks.reconstruct import reconstruct_findings
from pyscale.analysis.referencemodel import Loaded
from pyscale.analysis.resource_request import request_of
from pyscale.analysis.scaling import OVER_N, configurations
from pyscale.analysis.spending import Held, Prices, held_on_one_machine, with_costs
from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times
from pyscale.analysis.workers import worker_table
from pyscale.console import talk
from pyscale.evaluation.cost import prices_of
from pyscale.evaluation.origin import context_of
from pyscale.evaluation.run_diff import between_points
from pyscale.evaluation.runline import next_runs
from pyscale.evaluation.runpictures import pictures_of
from pyscale.planning.grid import VERSIONS, compares_trials
from pyscale.planning.plan import Plan
from pyscale.planning.traits import measures_alone, stands_apart
from pyscale.references.files import all_references
from pyscale.references.matching import (
    matching,
    matching_grids,
    matching_loading,
    matching_reconstruct,
    matching_tests,
    shown_beside,
)
from pyscale.references.workid import size_ids_of
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.results import Results
from pyscale.report.table import read_wall_times
from pyscale.report.write import write_report, writing_into
from pyscale.settings import load_settings
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest, write_manifest
from pyscale.store.tables import build_tables, write_tables
from pyscale.store.taskfiles import fails_again
from pyscale.validation.judging import validation_of
from pyscale_stages.registry import load_stage
from pyscale_stages.timing import Call

MATCHING = {"loader": matching_loading, "reconstruct": matching_reconstruct}
"""Finds references for ranks, by the kind of their work."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report is asked to show beside what it shows anyway."""

    references: tuple[str, ...] = ()
    """References to show though their work is another; "none" shows none at all."""
    own_references: bool = True
    """Whether the user's own references stand beside it, and not those of pyscale alone."""


USUAL = ReportOptions()


def report_run(
    run: RunFolder,
    folder: Path | None = None,
    options: ReportOptions = USUAL,
    *,
    tell: Callable[[str], object] = talk,
) -> Results:
    """Write the report of a run, at its end or not, and describe the run's folder as it is then."""
    home = tables_folder(run, folder)
    results = results_of(run, home, options, tell=tell)
    results = replace(results, pictures=pictures_of(run, tell))
    write_report(folder or run.report, results)
    if home == run.path:
        with writing_into(home):
            write_crate(run)
    return results


def tables_folder(run: RunFolder, report: Path | None) -> Path:
    """Folder that the tables of a run are written to, where its report goes into `report`."""
    if report is None or os.access(run.path, os.W_OK):
        return run.path
    return report


def results_of(
    run: RunFolder,
    home: Path | None = None,
    options: ReportOptions = USUAL,
    *,
    tell: Callable[[str], object] = talk,
    writes: bool = True,
) -> Results:
    """Rebuild tables and manifest of a run from its records, into `home`, and analyse them."""
    tables = build_tables(run)
    for sentence in tables.sources.unreadable.values():
        tell(sentence)
    manifest = build_manifest(run, tables.sources)
    if writes:
        home = home or run.path
        with writing_into(home):
            write_tables(home, tables)
            write_manifest(home, manifest)
    tasks, spans = tables.tasks, tables.spans
    trials = trial_table(tasks, spans)
    context = context_of(run, manifest, tables)
    suite = run.plan.suite

    # A machine is measured on several devices too, but its tests are compared one by one; the
    # points of a grid of loading by how fast and how diverse they are; and images that ranks
    # reconstruct by the components of an iteration.
    apart = run.plan.entries_that(stands_apart)
    # A call of a model is no other in another version, whose times are compared as they are; and
    # so are those of stages that time no calls.
    apart |= {
        trial.entry
        for trial in run.plan.trials
        if (point := suite.stages[trial.entry].point)
        and (
            point.keys() <= {*VERSIONS}
            or (compares_trials(suite) and Call not in load_stage(trial.stage).samples)
        )
    }

    def find_grids(table: pl.DataFrame) -> tuple[GridFindings, ...]:
        return grid_findings(
            *(tasks.filter(~tasks["stage"].is_in(apart)), tables.calls, trials, table),
            versus=suite.versus,
            against=suite.against,
            entries=list(suite.stages),
        )

    settings = load_settings()
    own = settings.references_folder if options.own_references else None
    references = list(all_references(own, tell).values())
    sizes = size_ids_of(run.plan)
    shown = shown_beside(
        references,
        context.work_id,
        asked={*suite.references, *options.references},
        sizes=sizes.values(),
    )
    loading = loader_findings(tables.loading, keep=settings.keep_diversity)
    images = reconstruct_findings(tables.reconstruction)
    ranks = [one for one in (images, loading) if one is not None]
    machine = machine_findings(
        tables.timings,
        tables.sources.places,
        measuring=run.plan.entries_that(measures_alone),
        sizes=sizes,
    )
    own_cpus = {trial.entry: run.plan.threads_of(trial) for trial in run.plan.trials}
    results = analysed(
        trials,
        context,
        workers=worker_table(tasks, spans),
        held=how_held(run.plan),
        prices=prices_of(run.plan),
        own_cpus=None if run.plan.site else own_cpus,
        references=shown,
        stages=stages_of(run.plan),
        find_grids=find_grids,
        kinds=[one for one in (machine, *ranks) if one is not None],
    )
    return replace(
        results,
        timeline=timeline_of(tasks, spans, trials),
        beside={
            **results.beside,
            "machine": matching_tests(shown, machine.tests) if machine else (),
            **{one.kind: MATCHING[one.kind](shown, one.points) for one in ranks},
        },
        validation=validation_of(run),
        # More of what has just failed would only fail again.
        next_runs=()
        if fails_again(run)
        else next_runs(
            curves(results.about_workers().configurations),
            results.choices,
            run.plan,
            cores_of(context),
        ),
        measured=measured_points(measured_trials(tables.measures, trials)),
        versions=between_points(run.plan, manifest, tasks, trials)
        if compares_trials(suite)
        else None,
    )


def cores_of(context: ReportContext) -> int | None:
    """Cores of the machine, where all tasks ran on one kind."""
    told = [found["cores"] for found in context.hardware if "cores" in found]
    return int(told[0]) if len(told) == len(context.hardware) == 1 else None


def results_of_table(table: Path, references: Iterable[Loaded] = ()) -> Results:
    """Analyse a CSV of wall times over numbers of workers."""
    wall_times = read_wall_times(table)
    return analysed(
        trials_from_wall_times(wall_times, suite=table.stem),
        context_of_table(table),
        interleaved=is_interleaved(wall_times),
        # A trial in one row is one job, which holds everything until it ends.
        held="task" if "task" in wall_times.columns else "machine",
        prices=load_settings().prices,
        references=references,
    )


def context_of_table(table: Path) -> ReportContext:
    """Origin of the numbers of a table."""
    return ReportContext(title=f"wall times of {table.name}", measured_for=table.name)


def stages_of(plan: Plan) -> dict[str, str]:
    """The stage behind each entry of a plan, and behind each entry that points come from."""
    entries = {trial.entry: trial.stage for trial in plan.trials}
    steps = plan.suite.stages
    families = {
        steps[entry].family or entry: stage for entry, stage in entries.items() if entry in steps
    }
    return families | entries


def analysed(
    trials: pl.DataFrame,
    context: ReportContext,
    *,
    workers: pl.DataFrame | None = None,
    interleaved: bool = True,
    held: Held | None = None,
    prices: Prices | None = None,
    own_cpus: Mapping[str, int] | None = None,
    references: Iterable[Loaded] = (),
    stages: Mapping[str, str] | None = None,
    find_grids: Callable[[pl.DataFrame], tuple[GridFindings, ...]] | None = None,
    kinds: Sequence[Findings] = (),
) -> Results:
    """Analyse a table of trials, wherever it comes from.

    `interleaved`: trials of a block ran close together in time; `own_cpus`: cores of a worker of
    each stage where nobody was asked for any; `stages`: the stage behind each name in `trials` and
    behind each family of points.
    """
    beside = list(references)
    table = configurations(trials, interleaved=interleaved)
    holding = trials if own_cpus is None else held_on_one_machine(trials, own_cpus)
    chosen = choices(table, trials, interleaved=interleaved)
    knees = (one for one in chosen if one.objective == "knee")
    asked = (request_of(one, trials, cpus=(own_cpus or {}).get(one.stage)) for one in knees)
    grids = find_grids(table) if find_grids else ()
    points = [stage for grid in grids for stage in grid.points["stage"]]
    # N ranks do N times as much, so that no wall times over N are compared.
    of_ranks = [entry for one in kinds if one.work == "own" for entry in one.entries]
    told = pl.when(~pl.col("stage").is_in(of_ranks))
    rows = table.with_columns(told.then(pl.col(name)).alias(name) for name in OVER_N)
    return Results(
        configurations=with_costs(rows, holding, held, prices),
        trials=trials,
        losses=loss_table(trials),
        fits=curve_fits(without_invalid(trials, table), interleaved=interleaved),
        limits=limits(trials, workers),
        choices=chosen,
        requests=[request for request in asked if request is not None],
        context=context,
        interleaved=interleaved,
        # What others measured over N stands beside no size or device.
        references=matching(beside, table.filter(~pl.col("stage").is_in(points)), stages),
        kinds=(*grids, *kinds),
        beside={"grid": matching_grids(beside, grids, stages)},
    )


def how_held(plan: Plan) -> Held | None:
    """How long workers held their cores; None where a job had more than it asked for."""
    if plan.site is None:
        return "machine"
    if len({trial.meets for trial in plan.trials}) != 1:
        return None
    if any(request.has_whole_nodes for request in (plan.site.request, *plan.site.override)):
        return None
    return "gang" if plan.trials[0].meets else "task"
