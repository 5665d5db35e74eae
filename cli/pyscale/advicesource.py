"""What advice is made from: a run, or a table of wall times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times
from pyscale.analysis.workertable import worker_table
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.report.table import read_wall_times
from pyscale.settings import load_settings
from pyscale.store.folder import find_run
from pyscale.store.lock import is_locked
from pyscale.store.tables import build_tables

if TYPE_CHECKING:
    import polars as pl


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
    """

    title: str
    measured_for: str
    trials: pl.DataFrame
    interleaved: bool = True
    workers: pl.DataFrame | None = None
    plan: Plan | None = None
    cores: int | None = None


def measured_run(name: str | None) -> Measured:
    """Read a run, by id or folder or the latest, without writing into it.

    Raises
    ------
    UserError
        If there is no such run, or nothing in it was timed.
    """
    run = find_run(load_settings().runs_folder, name)
    if is_locked(run.path):
        talk(f"the run {run.path.name} is not at its end: this is advice from what it has so far")
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
    hardware = " and ".join(dict.fromkeys(map(_hardware, stamps))) or "hardware that is not known"
    return Measured(
        title=plan.title,
        measured_for=f"{plan.measured_for} on {hardware}",
        trials=trials,
        workers=worker_table(tables.tasks, tables.spans),
        plan=plan,
        cores=stamps[0].get("cpu", {}).get("cores") if len(stamps) == 1 else None,
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
    processor, cores = cpu.get("model") or "a processor that is not known", cpu.get("cores")
    with_cores = f"{processor} with {cores} core{'s' * (cores > 1)}" if cores else processor
    return ", ".join([with_cores, *(gpu.get("name") or "a GPU" for gpu in gpus)])
