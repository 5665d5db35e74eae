"""What advice is made from: a run, or a table of wall times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.measured import measured_points, measured_trials
from pyscale.analysis.ranks.findings import rank_findings
from pyscale.analysis.ranks.work import RankFindings
from pyscale.analysis.starts import starts
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times
from pyscale.analysis.workertable import worker_table
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.origin import works
from pyscale.plan import Plan
from pyscale.report.context import Work
from pyscale.report.table import read_wall_times
from pyscale.settings import load_settings
from pyscale.store.folder import find_run
from pyscale.store.lock import is_locked
from pyscale.store.tables import build_tables


@dataclass(frozen=True)
class Measured:
    """Trials, and what else advice needs to know of them.

    Attributes
    ----------
    title, measured_for : str
        What was measured; and what was processed, on what.
    trials : polars.DataFrame
    interleaved : bool
        Whether trials of the same block ran close together in time.
    workers : polars.DataFrame or None
        One row for each worker of each trial; None where no phases are known.
    plan : Plan or None
        None for a table.
    cores : int or None
        Of the machine, where all tasks ran on one kind.
    works : mapping of str to Work
        What each entry computed.
    starts : polars.DataFrame or None
        Warm workers beside new processes (see `pyscale.analysis.starts`); None of a table.
    measures : polars.DataFrame or None
        Numbers that stages measure (see `pyscale.analysis.measured`); None of a table.
    ranks : tuple of RankFindings
        What ranks told that work together.
    """

    title: str
    measured_for: str
    trials: pl.DataFrame
    interleaved: bool = True
    workers: pl.DataFrame | None = None
    plan: Plan | None = None
    cores: int | None = None
    works: Mapping[str, Work] = field(default_factory=dict)
    starts: pl.DataFrame | None = None
    measures: pl.DataFrame | None = None
    ranks: tuple[RankFindings, ...] = ()


def measured_run(name: str | None) -> Measured:
    """Read a run, by id or folder or the latest, without writing into it.

    Raises
    ------
    UserError
        If there is no such run, or nothing in it was timed.
    """
    run = find_run(load_settings().runs_folder, name)
    if is_locked(run.path):
        talk(f"the run {run.path.name} is not finished: the advice is from its trials so far")
    tables = build_tables(run)
    for sentence in tables.sources.unreadable.values():
        talk(sentence)
    trials = trial_table(tables.tasks, tables.spans)
    plan = run.plan
    if not trials["valid"].any():
        raise UserError(
            f"the run {run.path.name} has no timed trial: see `pyscale status {run.path.name}`, "
            f"and finish it with `pyscale run --resume {run.path.name}`"
        )
    stamps = [found["stamp"] for found in tables.sources.hardware.values()]
    hardware = " and ".join(dict.fromkeys(map(_hardware, stamps))) or "unknown hardware"
    return Measured(
        title=plan.title,
        measured_for=f"{plan.measured_for} on {hardware}",
        trials=trials,
        workers=worker_table(tables.tasks, tables.spans),
        plan=plan,
        works=works(plan, tables.sources.entry_versions),
        cores=stamps[0].get("cpu", {}).get("cores") if len(stamps) == 1 else None,
        starts=starts(tables.tasks, trials),
        measures=measured_points(measured_trials(tables.measures, trials)),
        ranks=rank_findings(
            tables.loading, tables.reconstruction, keep=load_settings().keep_diversity
        ),
    )


def measured_table(table: Path) -> Measured:
    """Read a CSV of wall times.

    Raises
    ------
    UserError
        If it cannot be used.
    """
    wall_times = read_wall_times(table)
    return Measured(
        title=f"wall times of {table.name}",
        measured_for=table.name,
        trials=trials_from_wall_times(wall_times, suite=table.stem),
        interleaved=is_interleaved(wall_times),
    )


def _hardware(stamp: dict[str, Any]) -> str:
    cpu, gpus = stamp.get("cpu", {}), stamp.get("gpus", [])
    processor, cores = cpu.get("model") or "an unknown processor", cpu.get("cores")
    with_cores = f"{processor} with {cores} core{'s' * (cores > 1)}" if cores else processor
    return ", ".join([with_cores, *(gpu.get("name") or "a GPU" for gpu in gpus)])
