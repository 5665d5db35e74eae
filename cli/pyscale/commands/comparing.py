"""`pyscale compare`: whether a run, or a table of wall times, is faster or slower than another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.text import Text

from pyscale.analysis.comparison import comparison, other_work
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.judging import MARGIN, SIDES
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.evaluation.run_diff import (
    MeasuredRun,
    between,
    between_points,
    nothing_in_common,
    refuse_twice,
    tests_compared,
)
from pyscale.report.comparison import (
    SHOWN,
    ComparisonContext,
    Row,
    judged,
    named,
    percent,
    reasons,
)
from pyscale.report.comparisonview import Compared, shown
from pyscale.report.table import read_wall_times
from pyscale.settings import load_settings
from pyscale.store.folder import find_run
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables
from pyscale.wording import amount, percent_of

REGRESSION = 1
"""Exit code where a regression was to be found and was."""


def compare(
    base: str,
    new: str | None,
    *,
    at_least: str | None = None,
    fail_on_regression: bool,
    as_json: bool,
) -> int:
    """Print how one run, or table, differs from another, and return the exit code."""
    counts = MARGIN if at_least is None else _share(at_least)
    found = _of_one_run(base, counts) if new is None else _of_two(base, new, counts)
    if as_json:
        print(_json(found))  # noqa: T201 - the command's answer
    else:
        answer(shown(found))
        if found.headline is not None:
            answer(Text(found.headline, "bold"))
    return _gate(found.context, found.rows) if fail_on_regression else 0


def _of_one_run(name: str, at_least: float) -> Compared:
    """Compare devices, versions or other values that a run measured side by side."""
    run = find_run(load_settings().runs_folder, name)
    tables = build_tables(run)
    for sentence in tables.sources.unreadable.values():
        talk(sentence)
    trials = trial_table(tables.tasks, tables.spans)
    manifest = build_manifest(run, tables.sources)
    found = between_points(run.plan, manifest, tables.tasks, trials, at_least=at_least)
    if found is None:
        raise UserError(
            f"the run {run.plan.run_id} has no values side by side: name the run to compare it "
            "with, or measure two versions in one by `pyscale run SUITE --grid python=OLD,NEW`"
        )
    return Compared.of(found)


def _of_two(base: str, new: str, counts: float) -> Compared:
    """Compare two runs, or two tables."""
    tests = None
    if Path(base).is_file() and Path(new).is_file():
        refuse_twice([Path(base), Path(new)])
        trials = [trials_from_wall_times(read_wall_times(Path(name))) for name in (base, new)]
        context = ComparisonContext(base=base, new=new, measured_here=False)
    else:
        before, after = _runs(base, new)
        trials = [before.compared_trials, after.compared_trials]
        context = between(before, after)
        tests = tests_compared(before, after, at_least=counts)
    _refuse_other_work(base, new, *trials)
    context = context.model_copy(update={"at_least": counts})
    times = comparison(*trials, interleaved=context.measured_here, at_least=counts)
    rows = judged(times, tests)
    if not any(row["verdict"] for row in rows):
        _refuse_nothing_judged(base, new, context, rows)
    return Compared(context, rows)


def _runs(*names: str) -> tuple[MeasuredRun, MeasuredRun]:
    """Base and new, which measured the same on the same bytes."""
    folders = [find_run(load_settings().runs_folder, name) for name in names]
    refuse_twice([folder.path for folder in folders])
    base, new = map(MeasuredRun.of, folders)
    if unlike := nothing_in_common(base, new):
        raise UserError(f"{unlike}: measure the same entries at the same --workers")
    if base.inputs != new.inputs:
        raise UserError(
            f"run {base.run.plan.run_id} read {base.run.plan.movie or 'no movie'} and run "
            f"{new.run.plan.run_id} read {new.run.plan.movie or 'none'}, whose bytes are not the "
            "same, so their wall times are those of different work: run both on one dataset"
        )
    return base, new


def _refuse_nothing_judged(
    base: str, new: str, context: ComparisonContext, rows: Sequence[Row]
) -> None:
    """Say why there is nothing to compare."""
    why_not = reasons(rows, context.at_least)
    if why_not:
        raise UserError(
            f"nothing that {base} and {new} both measured can be compared. "
            f"{' '.join(why_not.values())}"
        )
    of_nodes = ", and no test of the machine on a node of both" * context.measured_here
    raise UserError(
        f"{base} and {new} have no configuration (stage, device and N) in common that was timed"
        f"{of_nodes}: measure the same stages at the same --workers"
    )


def _share(text: str) -> float:
    """Read a change that counts, as in `5%`."""
    try:
        return percent_of(text) / 100
    except ValueError as error:
        raise UserError(f"--at-least is {text!r}: {error}") from error


def _refuse_other_work(
    base: str, new: str, base_trials: pl.DataFrame, new_trials: pl.DataFrame
) -> None:
    """Refuse times of N workers that had more to do in one than in the other."""
    # One is enough to refuse.
    for stage, workers, work, other in other_work(base_trials, new_trials).head(1).iter_rows():
        raise UserError(
            f"{stage} at N = {workers} did {amount(work)} in {base} and {amount(other)} in {new} "
            "(frames, or px along a patch or an image), so their wall times are those of different "
            "work: measure both with as much for each N"
        )


def _json(found: Compared) -> str:
    told = found.context.model_dump(mode="json") | {
        "remarks": [*found.remarks, *found.on_outputs],
        "judged": [_written(row) for row in found.rows],
        "conclusion": found.headline,
    }
    return json.dumps(told, indent=1)


def _written(row: Row) -> Row:
    """Leave out what only a layout asks for."""
    told = {name: value for name, value in row.items() if name not in SHOWN}
    qualities = told.keys() & {f"{side}_quality" for side in SIDES}
    return told | {name: json.loads(row[name] or "{}") for name in qualities}


def _gate(context: ComparisonContext, rows: Sequence[Row]) -> int:
    """Say whether a regression was found, and what could not be told."""
    judged_rows = [row for row in rows if row["verdict"] is not None]
    worse = _named(judged_rows, "worse")
    if worse:
        talk(f"regression: {worse}")
        return REGRESSION
    if all(row["reason"] == "few-trials" for row in judged_rows):
        raise UserError(
            "--fail-on regression can find none: no configuration has "
            f"{repeats_needed()} timed trials on both sides, so measure with --repeats "
            f"{repeats_needed()} or more"
        )
    slower = _named(judged_rows, "slower")
    if slower:
        perhaps = f"slower, perhaps by less than {percent(context.at_least)}"
        talk(f"no regression, but {perhaps}: {slower}")
    undecided = _named(judged_rows, "not enough data")
    if undecided:
        talk(f"no regression was found; not enough data to exclude one: {undecided}")
    return 0


def _named(rows: Sequence[Row], verdict: str) -> str:
    return named([row for row in rows if row["verdict"] == verdict])
