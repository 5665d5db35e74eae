"""`pyscale compare`: whether a run, or a table of wall times, is faster or slower than another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pyscale.analysis.comparison import MARGIN, comparison, other_work, runs_differ_by
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.betweenmachines import tests_compared
from pyscale.betweenruns import MeasuredRun, between
from pyscale.betweenversions import between_versions
from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.report import comparisontests
from pyscale.report.comparison import (
    ComparisonContext,
    Row,
    conclusion,
    named,
    output_remarks,
    remarks,
    shown,
    unit_remarks,
    words,
)
from pyscale.report.table import read_wall_times
from pyscale.report.wording import amount, listing
from pyscale.settings import load_settings
from pyscale.store.folder import find_run
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables

REGRESSION = 1
"""Exit code where a regression was to be found and was."""


@dataclass(frozen=True)
class _Loaded:
    """Two runs, or tables, and further ones of the base's version, by their trials."""

    context: ComparisonContext
    base: pl.DataFrame
    new: pl.DataFrame
    yardsticks: Mapping[str, pl.DataFrame]
    tests: pl.DataFrame | None = None


def compare(
    base: str,
    new: str | None,
    *,
    yardsticks: Sequence[str] = (),
    at_least: str | None = None,
    fail_on_regression: bool,
    as_json: bool,
) -> int:
    """Print how the configurations of one run, or table, differ from another's.

    Parameters
    ----------
    base, new : str
        Two runs by id or folder, or two CSV tables of wall times; a run alone holds both versions.
    yardsticks : sequence of str
        Further ones of the base's version: a change must exceed how far they differ.
    at_least : str or None
        Least change that counts, as in `5%` or `0.05`; 5 % where none is given.
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
        If one of them cannot be read or they cannot be compared; and where a regression was
        to be found and no configuration has enough trials to show one.
    """
    counts = MARGIN if at_least is None else _share(at_least)
    if new is None:
        context, table, tests = *_of_one_run(base, counts, yardsticks), None
    else:
        context, table, tests = _of_two(base, new, counts, yardsticks)
    if as_json:
        print(_json(context, table, tests))  # noqa: T201 - the command's answer
    else:
        answer(shown(context, table))
        if tests is not None:
            answer(comparisontests.shown(tests, counts))
        _answer_in_short(context, table)
    return _gate(table, tests, counts) if fail_on_regression else 0


def _answer_in_short(context: ComparisonContext, table: pl.DataFrame) -> None:
    """Print the answer in one sentence, where configurations were compared."""
    from rich.text import Text

    told = conclusion(context, table)
    if told is not None:
        answer(Text(told, "bold"))


def _of_one_run(
    name: str, at_least: float, yardsticks: Sequence[str]
) -> tuple[ComparisonContext, pl.DataFrame]:
    """Compare both versions that a run measured."""
    if yardsticks:
        raise UserError(
            f"--yardstick shows how far runs differ, but {name} has both versions: leave it out, "
            "or name a second run to judge"
        )
    run = find_run(load_settings().runs_folder, name)
    tables = build_tables(run)
    for sentence in tables.sources.unreadable.values():
        talk(sentence)
    trials = trial_table(tables.tasks, tables.spans)
    manifest = build_manifest(run, tables.sources)
    found = between_versions(run.plan, manifest, tables.tasks, trials, at_least=at_least)
    if found is None:
        raise UserError(
            f"the run {run.plan.run_id} measured one version: name the run to compare it with, or "
            "measure two by `pyscale run SUITE --against BASE`"
        )
    return found.context, found.table


def _of_two(
    base: str, new: str, counts: float, yardsticks: Sequence[str]
) -> tuple[ComparisonContext, pl.DataFrame, pl.DataFrame | None]:
    """Compare two runs, or two tables."""
    loaded = _loaded([base, new, *yardsticks], counts)
    for name, trials in {new: loaded.new, **loaded.yardsticks}.items():
        _refuse_other_work(base, name, loaded.base, trials)
    differ_by = _runs_differ_by(loaded) if yardsticks else None
    context = loaded.context.model_copy(
        update={
            "at_least": counts,
            "yardsticks": tuple(yardsticks),
            "runs_differ_by": differ_by,
        }
    )
    table = comparison(
        loaded.base,
        loaded.new,
        interleaved=context.measured_here,
        at_least=counts,
        scatter=differ_by or 0.0,
    )
    tests = loaded.tests
    if _has_no_verdict(table) and (tests is None or _has_no_verdict(tests)):
        raise UserError(
            f"{base} and {new} have no configuration (stage, device and N) in common, and no test "
            "of the machine: measure the same stages at the same --workers"
        )
    return context, table, tests


def _share(text: str) -> float:
    """Read a change that counts, as in `5%` or `0.05`."""
    number, is_percent, rest = text.partition("%")
    try:
        share = float(number) / (100 if is_percent else 1)
    except ValueError:
        share = 0.0
    if rest or not 0 < share < 1:
        raise UserError(
            f"--at-least is {text!r}: give a change of more than 0 and less than 100 %, as in 5% "
            "or 0.05"
        )
    return share


def _runs_differ_by(loaded: _Loaded) -> float:
    found = None
    if not loaded.new.is_empty():
        found = runs_differ_by([loaded.base, *loaded.yardsticks.values()], loaded.new)
    if found is None:
        raise UserError(
            f"--yardstick {listing(list(loaded.yardsticks))}: no stage was timed there at an N at "
            "which BASE and NEW timed it too, so how far runs differ is unknown: give runs that "
            "measured the same stages at the same --workers"
        )
    return found


def _has_no_verdict(table: pl.DataFrame) -> bool:
    return table["verdict"].null_count() == table.height


def _loaded(names: Sequence[str], at_least: float) -> _Loaded:
    """Read base, new and yardsticks, which must be of one kind."""
    are_tables = [Path(name).is_file() for name in names]
    if all(are_tables):
        _refuse_twice([Path(name) for name in names])
        base, new, *more = (trials_from_wall_times(read_wall_times(Path(name))) for name in names)
        context = ComparisonContext(base=names[0], new=names[1], measured_here=False)
        return _Loaded(context, base, new, dict(zip(names[2:], more, strict=True)))
    runs_folder = load_settings().runs_folder
    if any(are_tables):
        table, run = names[are_tables.index(True)], names[are_tables.index(False)]
        find_run(runs_folder, run)
        raise UserError(
            f"{table} is a table of wall times and {run} is a run: give runs alone, or tables alone"
        )
    folders = [find_run(runs_folder, name) for name in names]
    _refuse_twice([folder.path for folder in folders])
    before, after, *others = map(MeasuredRun.of, folders)
    for other in (after, *others):
        _refuse_other_input(before, other)
    for other in others:
        _refuse_other_version(before, other)
    tests = tests_compared(before, after, at_least=at_least)
    if tests is None:
        _refuse_ranks_alone(before, after)
    return _Loaded(
        between(before, after),
        before.compared_trials,
        after.compared_trials,
        {name: run.compared_trials for name, run in zip(names[2:], others, strict=True)},
        tests,
    )


def _refuse_twice(paths: Sequence[Path]) -> None:
    places = [path.resolve() for path in paths]
    for place, path in zip(places, paths, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{path} was given twice: name each once")


def _refuse_other_version(base: MeasuredRun, yardstick: MeasuredRun) -> None:
    """Refuse a yardstick that measures more than how far runs of one version differ."""
    kinds = {
        found.kind
        for found in between(base, yardstick).differences
        # Which node of one kind a run gets is part of how far runs differ.
        if found.kind != "nodes"
    }
    if kinds:
        raise UserError(
            f"--yardstick {yardstick.run.plan.run_id} differs from {base.run.plan.run_id} in "
            f"{listing(sorted(kinds))}, so that it would not show how far runs of one version "
            "differ: give runs of BASE's version, with its settings and hardware"
        )


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
        "remarks": [
            *remarks(context),
            *unit_remarks(context, table),
            *output_remarks(context, table),
        ],
        "configurations": [
            row
            | {
                f"{side}_quality": json.loads(row[f"{side}_quality"] or "{}")
                for side in ("base", "new")
            }
            for row in table.to_dicts()
        ],
        "tests": [] if tests is None else tests.to_dicts(),
        "conclusion": conclusion(context, table),
    }
    return json.dumps(found, indent=1)


def _gate(table: pl.DataFrame, tests: pl.DataFrame | None, at_least: float) -> int:
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
    slower = _named(rows, of_machine, "slower")
    if slower:
        talk(f"no regression, but {words(at_least)['slower']}: {slower}")
    undecided = _named(rows, of_machine, "not enough data")
    if undecided:
        talk(f"no regression was found; not enough data to exclude one: {undecided}")
    return 0


def _named(rows: list[Row], of_machine: list[Row], verdict: str) -> str:
    """Name the configurations, and then the tests of the machine, of one verdict."""
    found, tests = ([row for row in own if row["verdict"] == verdict] for own in (rows, of_machine))
    return "; ".join(filter(None, (named(found), comparisontests.named(tests))))
