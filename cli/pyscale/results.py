"""From the records of runs to what the analysis finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.analysis.losses import loss_table
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
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
        One row for each stage and worker count.
    trials : polars.DataFrame
        One row for each trial.
    losses : polars.DataFrame
        Where the worker-seconds went.
    context : ReportContext
        Where the numbers come from.
    """

    configurations: pl.DataFrame
    trials: pl.DataFrame
    losses: pl.DataFrame
    context: ReportContext


def results_of(run: RunFolder) -> Results:
    """Rebuild tables and manifest of a run from its records, and analyse them."""
    tasks, spans = build_tables(run)
    write_tables(run, tasks, spans)
    trials = trial_table(tasks, spans)
    context = _context(run, write_manifest(run), measured=set(trials["trial"]))
    return analysed(trials, context)


def analysed(trials: pl.DataFrame, context: ReportContext, *, interleaved: bool = True) -> Results:
    """Analyse a table of trials, wherever it comes from."""
    return Results(
        configurations=configurations(trials, interleaved=interleaved),
        trials=trials,
        losses=loss_table(trials),
        context=context,
    )


def report_results(folder: Path, results: Results) -> list[Path]:
    """Write the report's files and return their paths."""
    return write_report(
        folder, results.configurations, results.trials, results.losses, results.context
    )


def _context(run: RunFolder, manifest: dict[str, Any], measured: set[str]) -> ReportContext:
    plan = run.plan
    settings = plan.settings
    return ReportContext(
        title=f"run {plan.run_id}, suite {plan.suite.name}, on {plan.movie.name} "
        f"({plan.movie_frames} frames)",
        settings={
            "executor": settings["executor"],
            "runtime": settings["runtime"],
            "cores and threads of each worker": str(settings["cpus_per_worker"]),
            "page cache of the inputs before each trial": settings["cache"],
            "order of trials": f"randomised blocks, seed {settings['seed']}",
            "pyscale": manifest["pyscale"]["version"],
        },
        hardware=tuple(_properties(found["stamp"]) for found in manifest["hardware"].values()),
        not_measured=_not_measured(run, measured),
    )


def _not_measured(run: RunFolder, measured: set[str]) -> tuple[str, ...]:
    """Say which planned trials left no record at all."""
    absent = [trial.id for trial in run.plan.trials if trial.id not in measured]
    if not absent:
        return ()
    return (f"{len(absent)} of {len(run.plan.trials)} planned trials: {', '.join(absent)}.",)


def _properties(stamp: dict[str, Any]) -> dict[str, str]:
    """What a reader of the report must know of a node."""
    cpu, memory = stamp.get("cpu", {}), stamp.get("memory", {})
    found = {
        "node": stamp.get("node"),
        "processor": cpu.get("model"),
        "cores": cpu.get("cores"),
        "usable cores": len(cpu.get("usable", [])) or None,
        "memory": f"{memory['total_bytes'] / 2**30:.0f} GiB" if "total_bytes" in memory else None,
        "GPUs": ", ".join(gpu["name"] for gpu in stamp.get("gpus", [])) or "none",
        "filesystems": ", ".join(sorted({fs["fs_type"] for fs in stamp.get("filesystems", [])})),
        "kernel": stamp.get("kernel"),
        "load at start": stamp.get("load_1min"),
    }
    return {name: str(value) for name, value in found.items() if value is not None}
