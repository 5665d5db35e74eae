"""`pyscale compare`: whether a run, or a table of wall times, is faster or slower than another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pyscale.analysis.comparison import comparison
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.report.comparison import (
    ComparisonContext,
    OutputComparison,
    named,
    output_remarks,
    remarks,
    shown,
)
from pyscale.report.table import read_wall_times
from pyscale.report.wording import amount
from pyscale.runfacts import Facts, differences, facts
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task
from pyscale_stages.task import WINDOW_FILE

if TYPE_CHECKING:
    import polars as pl

REGRESSION = 1
"""Exit code where a regression was to be found and was."""


@dataclass(frozen=True)
class _Measured:
    """A run as a comparison needs it; nothing is written into its folder."""

    run: RunFolder
    manifest: Mapping[str, Any]
    tasks: pl.DataFrame
    trials: pl.DataFrame

    @classmethod
    def of(cls, run: RunFolder) -> _Measured:
        tasks, spans = build_tables(run)
        try:
            manifest = build_manifest(run)
        except (OSError, ValidationError) as error:
            raise UserError(
                f"{run.path} does not tell what it was measured with (provenance.json is missing "
                "or unreadable there): measure it again with this pyscale"
            ) from error
        return cls(run, manifest, tasks, trial_table(tasks, spans))

    def facts(self, entries: set[str]) -> Facts:
        return facts(self.run.plan, self.manifest, self.tasks["node"].drop_nulls(), entries)

    @property
    def entries(self) -> list[str]:
        """Entries of which a trial left a record, in the order of the pipeline."""
        return self.trials["stage"].unique(maintain_order=True).to_list()

    @property
    def missing(self) -> str | None:
        planned = len(self.run.plan.trials)
        lacking = planned - self.trials.height
        return f"{lacking} of {planned}" if lacking else None


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
    context, base_trials, new_trials = _loaded(base, new)
    _refuse_other_work(base, new, base_trials, new_trials)
    table = comparison(base_trials, new_trials, interleaved=context.measured_here)
    if table["verdict"].null_count() == table.height:
        raise UserError(
            f"{base} and {new} have no configuration (stage, device and N) in common: measure "
            "the same stages at the same --workers"
        )
    if as_json:
        print(_json(context, table))  # noqa: T201 - the command's answer
    else:
        answer(shown(context, table))
    return _gate(table) if fail_on_regression else 0


def _loaded(base: str, new: str) -> tuple[ComparisonContext, pl.DataFrame, pl.DataFrame]:
    are_tables = [Path(name).is_file() for name in (base, new)]
    if all(are_tables):
        _refuse_one(Path(base), Path(new))
        tables = [trials_from_wall_times(read_wall_times(Path(name))) for name in (base, new)]
        context = ComparisonContext(base=base, new=new, measured_here=False)
        return context, tables[0], tables[1]
    runs_folder = load_settings().runs_folder
    if any(are_tables):
        table, other = (base, new) if are_tables[0] else (new, base)
        find_run(runs_folder, other)
        raise UserError(
            f"{table} is a table of wall times and {other} is a run: give two runs, or two tables"
        )
    folders = [find_run(runs_folder, name) for name in (base, new)]
    _refuse_one(folders[0].path, folders[1].path)
    before, after = map(_Measured.of, folders)
    _refuse_other_input(before, after)
    return _context(before, after), before.trials, after.trials


def _refuse_one(base: Path, new: Path) -> None:
    if base.resolve() == new.resolve():
        raise UserError(f"{base} was given twice: name the two that are to be compared")


def _refuse_other_input(base: _Measured, new: _Measured) -> None:
    """Refuse runs on different bytes: their wall times are those of different work."""
    inputs = [
        [(file["size_bytes"], file["sha256"]) for file in side.manifest["input"]["files"]]
        for side in (base, new)
    ]
    if inputs[0] != inputs[1]:
        raise UserError(
            f"run {base.run.plan.run_id} read {base.run.plan.movie} and run "
            f"{new.run.plan.run_id} read {new.run.plan.movie}, whose bytes are not the same, so "
            "their wall times are those of different work: run both on one dataset"
        )


def _refuse_other_work(
    base: str, new: str, base_trials: pl.DataFrame, new_trials: pl.DataFrame
) -> None:
    """Refuse times of N workers that had more to do in one than in the other."""
    import polars as pl

    one = ["stage", "workers"]
    done, done_new = (
        side.filter("valid").group_by(one).agg(pl.col("work").median())
        for side in (base_trials, new_trials)
    )
    unlike = done.join(done_new, on=one).filter(pl.col("work") != pl.col("work_right")).sort(one)
    for stage, workers, work, other in unlike.head(1).iter_rows():
        raise UserError(
            f"{stage} at N = {workers} did {amount(work)} in {base} and {amount(other)} in {new}, "
            "so their wall times are those of different work: measure both with as much for each N"
        )


def _context(base: _Measured, new: _Measured) -> ComparisonContext:
    shared = {entry for entry in base.entries if entry in new.entries}
    commits = [
        (side.manifest["pyscale"]["git_commit"], side.manifest["pyscale"]["git_dirty"])
        for side in (base, new)
    ]
    return ComparisonContext(
        base=base.run.plan.title,
        new=new.run.plan.title,
        measured_here=True,
        differences=tuple(differences(base.facts(shared), new.facts(shared))),
        uncommitted=commits[0] == commits[1] and bool(commits[0][1]),
        missing={
            name: side.missing for name, side in (("base", base), ("new", new)) if side.missing
        },
        outputs=tuple(
            _outputs(entry, base, new, shared) for entry in base.entries if entry in shared
        ),
    )


def _outputs(entry: str, base: _Measured, new: _Measured, shared: set[str]) -> OutputComparison:
    before, after = (_reference_output(side.run, entry) for side in (base, new))
    if not before or not after:
        return OutputComparison(stage=entry, found="unknown")
    files = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    stages = new.run.plan.suite.stages
    return OutputComparison(
        stage=entry,
        found="different" if files else "same",
        files=tuple(files),
        read_by=tuple(
            name for name in stages if name in shared and entry in stages[name].inputs.values()
        ),
    )


def _reference_output(run: RunFolder, entry: str) -> dict[str, str]:
    """Files of a stage's reference output with their sha256; none where it left no record.

    The window's own record is left out: it holds parameters, which are compared by themselves.
    """
    for trial in run.plan.trials:
        if trial.entry == entry and trial.is_reference:
            result = read_task(run.task(trial, trial.output_task)).result
            files = result.outputs if result is not None else ()
            return {file.name: file.sha256 for file in files if file.name != WINDOW_FILE}
    return {}


def _json(context: ComparisonContext, table: pl.DataFrame) -> str:
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
    }
    return json.dumps(found, indent=1)


def _gate(table: pl.DataFrame) -> int:
    """Say whether a regression was found, and what could not be told."""
    rows = [row for row in table.to_dicts() if row["verdict"] is not None]
    worse = [row for row in rows if row["verdict"] == "worse"]
    if worse:
        talk(f"regression: {named(worse)}")
        return REGRESSION
    if all(row["reason"] == "few-trials" for row in rows):
        raise UserError(
            "--fail-on regression can find none: no configuration has "
            f"{repeats_needed()} timed trials on both sides, so measure with --repeats "
            f"{repeats_needed()} or more"
        )
    undecided = [row for row in rows if row["verdict"] == "not enough data"]
    if undecided:
        talk(f"no regression was found; not enough data to exclude one: {named(undecided)}")
    return 0
