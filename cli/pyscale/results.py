"""From the records of runs to what the analysis finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.analysis.drift import Drift, drifts
from pyscale.analysis.fits import CurveFits, curve_fits
from pyscale.analysis.losses import GROUP, loss_table
from pyscale.analysis.scaling import configurations
from pyscale.analysis.spending import Held, configuration_costs, trial_costs
from pyscale.analysis.trials import trial_table
from pyscale.plan import Plan
from pyscale.report.context import ReportContext
from pyscale.report.write import write_report
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import write_manifest
from pyscale.store.tables import build_tables, write_tables

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Results:
    """Everything that a report shows.

    Attributes
    ----------
    configurations : polars.DataFrame
        One row for each stage and worker count; `core_hours` is the mean over timed trials of
        what was asked for and held, null where that is not known.
    trials : polars.DataFrame
        One row for each trial.
    losses : polars.DataFrame
        Where the worker-seconds went.
    fits : list of CurveFits
        Scaling laws fitted to each curve.
    drifts : list of Drift
        What changed over the run; empty where the order of trials is not known.
    context : ReportContext
        Where the numbers come from.
    """

    configurations: pl.DataFrame
    trials: pl.DataFrame
    losses: pl.DataFrame
    fits: list[CurveFits]
    drifts: list[Drift]
    context: ReportContext


def results_of(run: RunFolder, *, count_retried: bool = False) -> Results:
    """Rebuild tables and manifest of a run from its records, and analyse them.

    Parameters
    ----------
    run : RunFolder
    count_retried : bool
        Whether trials that succeeded only when tried again are timed too.
    """
    tasks, spans = build_tables(run)
    write_tables(run, tasks, spans)
    trials = trial_table(tasks, spans, count_retried=count_retried)
    context = _context(run, write_manifest(run), tasks)
    return analysed(trials, context, held=how_held(run.plan))


def analysed(
    trials: pl.DataFrame,
    context: ReportContext,
    *,
    interleaved: bool = True,
    held: Held | None = None,
) -> Results:
    """Analyse a table of trials, wherever it comes from.

    `interleaved` says that it is a run of pyscale, whose order of trials is known and random;
    `held` how long its workers held what they asked for, None where that is not known.
    """
    import polars as pl

    table = configurations(trials, interleaved=interleaved)
    if held is None:
        table = table.with_columns(core_hours=pl.lit(None, dtype=pl.Float64))
    else:
        one = [*GROUP, "workers"]
        costs = configuration_costs(trial_costs(trials, held)).select(*one, "core_hours")
        table = table.join(costs, on=one, how="left", nulls_equal=True, maintain_order="left")
    return Results(
        configurations=table,
        trials=trials,
        losses=loss_table(trials),
        fits=curve_fits(trials),
        drifts=drifts(trials) if interleaved else [],
        context=context,
    )


def report_results(folder: Path, results: Results) -> list[Path]:
    """Write the report's files and return their paths."""
    return write_report(
        folder,
        results.configurations,
        results.trials,
        results.losses,
        results.context,
        fits=results.fits,
        drifts=results.drifts,
    )


def how_held(plan: Plan) -> Held | None:
    """How long workers held their cores; None where a job had more than it asked for."""
    layouts = {trial.layout for trial in plan.trials}
    if plan.site is None or len(layouts) != 1:
        return None
    if any(request.exclusive for request in (plan.site.request, *plan.site.override)):
        return None
    return "gang" if "gang" in layouts else "task"


def _context(run: RunFolder, manifest: dict[str, Any], tasks: pl.DataFrame) -> ReportContext:
    plan = run.plan
    settings = plan.settings
    cluster = {} if plan.site is None else {"cluster": plan.site.name}
    return ReportContext(
        title=f"run {plan.run_id}, suite {plan.suite.name}, on {plan.movie.name} "
        f"({plan.movie_frames} frames)",
        settings={
            "executor": settings["executor"],
            **cluster,
            "runtime": settings["runtime"],
            "cores and threads of each worker": str(settings["cpus_per_worker"]),
            "windows of each worker": str(settings["chunks_per_worker"]),
            "page cache of the inputs before each trial": settings["cache"],
            "order of trials": f"randomised blocks, seed {settings['seed']}",
            "pyscale": manifest["pyscale"]["version"],
        },
        hardware=tuple(
            _properties(found["stamp"], _nodes(tasks, label))
            for label, found in manifest["hardware"].items()
        ),
        not_measured=_not_measured(run, measured=set(tasks["trial"])),
    )


def _not_measured(run: RunFolder, measured: set[str]) -> tuple[str, ...]:
    """Say which planned trials left no record at all."""
    absent = [trial.id for trial in run.plan.trials if trial.id not in measured]
    if not absent:
        return ()
    return (f"{len(absent)} of {len(run.plan.trials)} planned trials: {', '.join(absent)}.",)


def _nodes(tasks: pl.DataFrame, label: str) -> str:
    """Names of all nodes of one kind that tasks ran on."""
    nodes = tasks.filter(tasks["hardware"] == label)["node"].drop_nulls()
    return ", ".join(sorted(set(nodes)))


def _properties(stamp: dict[str, Any], nodes: str) -> dict[str, str]:
    """What a reader of the report must know of the nodes of one kind."""
    cpu, memory = stamp.get("cpu", {}), stamp.get("memory", {})
    found = {
        "nodes": nodes or None,
        "processor": cpu.get("model"),
        "cores": cpu.get("cores"),
        "usable cores": len(cpu.get("usable", [])) or None,
        "memory": f"{memory['total_bytes'] / 2**30:.0f} GiB" if "total_bytes" in memory else None,
        "GPUs": ", ".join(gpu["name"] for gpu in stamp.get("gpus", [])) or "none",
        "filesystems": ", ".join(sorted({fs["fs_type"] for fs in stamp.get("filesystems", [])})),
        "kernel": stamp.get("kernel"),
        "load at start": f"{stamp['load_1min']:.2f}" if "load_1min" in stamp else None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}
