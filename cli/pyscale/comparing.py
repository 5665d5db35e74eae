"""`pyscale compare`: whether a run, or a table of wall times, is faster or slower than another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.analysis.comparison import comparison, other_work
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.betweenmachines import tests_compared
from pyscale.betweenruns import MeasuredRun, between
from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.report import comparisontests
from pyscale.report.comparison import (
    ComparisonContext,
    Row,
    named,
    output_remarks,
    remarks,
    shown,
)
from pyscale.report.table import read_wall_times
from pyscale.report.wording import amount
from pyscale.settings import load_settings
from pyscale.store.folder import find_run

if TYPE_CHECKING:
    import polars as pl

REGRESSION = 1
"""Exit code where a regression was to be found and was."""


def compare(base: str, new: str, *, fail_on_regression: bool, as_json: bool) -> int:
    """Print how the configurations of one run, or table, differ from another's.

    Parameters
    ----------
    base, new : str
        Two runs by id or folder, or two CSV tables of wall times.
    fail_on_regression : bool
        Whether a configuration that is worse makes the exit code 1.
    as_json : bool

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        If one of the two cannot be read or they cannot be compared; and where a regression was
        to be found and no configuration has enough trials to show one.
    """
    context, base_trials, new_trials, tests = _loaded(base, new)
    _refuse_other_work(base, new, base_trials, new_trials)
    table = comparison(base_trials, new_trials, interleaved=context.measured_here)
    if _has_no_verdict(table) and (tests is None or _has_no_verdict(tests)):
        raise UserError(
            f"{base} and {new} have no configuration (stage, device and N) in common, and no test "
            "of the machine: measure the same stages at the same --workers"
        )
    if as_json:
        print(_json(context, table, tests))  # noqa: T201 - the command's answer
    else:
        answer(shown(context, table))
        if tests is not None:
            answer(comparisontests.shown(tests))
    return _gate(table, tests) if fail_on_regression else 0


def _has_no_verdict(table: pl.DataFrame) -> bool:
    return table["verdict"].null_count() == table.height


def _loaded(
    base: str, new: str
) -> tuple[ComparisonContext, pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    are_tables = [Path(name).is_file() for name in (base, new)]
    if all(are_tables):
        _refuse_one(Path(base), Path(new))
        tables = [trials_from_wall_times(read_wall_times(Path(name))) for name in (base, new)]
        context = ComparisonContext(base=base, new=new, measured_here=False)
        return context, tables[0], tables[1], None
    runs_folder = load_settings().runs_folder
    if any(are_tables):
        table, other = (base, new) if are_tables[0] else (new, base)
        find_run(runs_folder, other)
        raise UserError(
            f"{table} is a table of wall times and {other} is a run: give two runs, or two tables"
        )
    folders = [find_run(runs_folder, name) for name in (base, new)]
    _refuse_one(folders[0].path, folders[1].path)
    before, after = map(MeasuredRun.of, folders)
    _refuse_other_input(before, after)
    trials, tests = (before.compared_trials, after.compared_trials), tests_compared(before, after)
    if tests is None:
        _refuse_ranks_alone(before, after)
    return between(before, after), *trials, tests


def _refuse_one(base: Path, new: Path) -> None:
    if base.resolve() == new.resolve():
        raise UserError(f"{base} was given twice: name the two that are to be compared")


def _refuse_ranks_alone(base: MeasuredRun, new: MeasuredRun) -> None:
    """Refuse runs of ranks that meet: by their wall times they cannot be compared."""
    sides = (base, new)
    plans = [side.run.plan for side in sides if side.compared_trials.is_empty()]
    told = {
        "how patches are loaded": ("loader", any(plan.loader_entries for plan in plans)),
        "how ranks reconstruct an image": (
            "reconstruct",
            any(plan.reconstruct_entries for plan in plans),
        ),
    }
    for what, (table, is_so) in told.items():
        if is_so:
            raise UserError(
                f"{' and '.join(side.run.plan.run_id for side in sides)} measured {what}, and wall "
                f"times of independent tasks are what is compared: lay the benchmark_{table}.csv "
                "of their reports side by side"
            )


def _refuse_other_input(base: MeasuredRun, new: MeasuredRun) -> None:
    """Refuse runs on different bytes: their wall times are those of different work."""
    if base.inputs != new.inputs:
        raise UserError(
            f"run {base.run.plan.run_id} read {base.run.plan.movie or 'no movie'} and run "
            f"{new.run.plan.run_id} read {new.run.plan.movie or 'none'}, whose bytes are not the "
            "same, so their wall times are those of different work: run both on one dataset"
        )


def _refuse_other_work(
    base: str, new: str, base_trials: pl.DataFrame, new_trials: pl.DataFrame
) -> None:
    """Refuse times of N workers that had more to do in one than in the other."""
    for stage, workers, work, other in other_work(base_trials, new_trials).head(1).iter_rows():
        raise UserError(
            f"{stage} at N = {workers} did {amount(work)} in {base} and {amount(other)} in {new}, "
            "so their wall times are those of different work: measure both with as much for each N"
        )


def _json(context: ComparisonContext, table: pl.DataFrame, tests: pl.DataFrame | None) -> str:
    found = context.model_dump(mode="json") | {
        "remarks": [*remarks(context), *output_remarks(context, table)],
        "configurations": [
            row
            | {
                f"{side}_quality": json.loads(row[f"{side}_quality"] or "{}")
                for side in ("base", "new")
            }
            for row in table.to_dicts()
        ],
        "tests": [] if tests is None else tests.to_dicts(),
    }
    return json.dumps(found, indent=1)


def _gate(table: pl.DataFrame, tests: pl.DataFrame | None) -> int:
    """Say whether a regression was found, and what could not be told."""
    rows = [row for row in table.to_dicts() if row["verdict"] is not None]
    of_machine = [] if tests is None else tests.drop_nulls("verdict").to_dicts()
    worse = _named(rows, of_machine, "worse")
    if worse:
        talk(f"regression: {worse}")
        return REGRESSION
    if all(row["reason"] == "few-trials" for row in [*rows, *of_machine]):
        raise UserError(
            "--fail-on regression can find none: no configuration has "
            f"{repeats_needed()} timed trials on both sides, so measure with --repeats "
            f"{repeats_needed()} or more"
        )
    undecided = _named(rows, of_machine, "not enough data")
    if undecided:
        talk(f"no regression was found; not enough data to exclude one: {undecided}")
    return 0


def _named(rows: list[Row], of_machine: list[Row], verdict: str) -> str:
    """Name the configurations, and then the tests of the machine, of one verdict."""
    found, tests = ([row for row in own if row["verdict"] == verdict] for own in (rows, of_machine))
    return "; ".join(filter(None, (named(found), comparisontests.named(tests))))
