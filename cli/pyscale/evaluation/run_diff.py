"""What two sides share besides wall times, and their differences: runs, or points of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.comparison import comparison, rank_times
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.machine.beside import MachineSide, compared_tests, machines_side_by_side
from pyscale.analysis.machine.tests import machine_tests, trial_medians
from pyscale.analysis.trials import trial_table
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.evaluation.runline import interleaved_line
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.runfacts import SHA_DIGITS, Difference, Facts, differences, facts
from pyscale.planning.traits import shares_windows, stands_apart
from pyscale.references.workid import size_ids_of
from pyscale.report.comparison import (
    ComparisonContext,
    OutputComparison,
    VersionComparison,
    named,
)
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import RecordError, read_task
from pyscale_stages.task import WINDOW_FILE


@dataclass(frozen=True)
class MeasuredRun:
    """A run as a comparison needs it; nothing is written into its folder."""

    run: RunFolder
    manifest: Mapping[str, Any]
    nodes: tuple[str, ...]
    trials: pl.DataFrame
    timings: pl.DataFrame
    of_ranks: pl.DataFrame
    """As `pyscale.analysis.comparison.rank_times` gives it."""

    @classmethod
    def of(cls, run: RunFolder) -> MeasuredRun:
        """Read the records of a run."""
        tables = build_tables(run)
        for sentence in tables.sources.unreadable.values():
            talk(sentence)
        nodes = tables.tasks["node"].drop_nulls().unique().sort().to_list()
        manifest = build_manifest(run, tables.sources)
        trials = trial_table(tables.tasks, tables.spans)
        ranks = rank_times(tables.loading, tables.reconstruction)
        return cls(run, manifest, tuple(nodes), trials, tables.timings, ranks)

    def facts(self, entries: set[str]) -> Facts:
        """What it was measured on and with, as far as these entries of the suite go."""
        return facts(self.run.plan, self.manifest, self.nodes, entries)

    @property
    def entries(self) -> list[str]:
        """Entries of which a trial left a record, in the order of the pipeline."""
        return self.trials["stage"].unique(maintain_order=True).to_list()

    @property
    def compared_trials(self) -> pl.DataFrame:
        """Trials whose wall times are compared, those of ranks as `rank_trials` has them."""
        apart = self.trials["stage"].is_in(list(self.run.plan.entries_that(stands_apart)))
        return pl.concat([self.trials.filter(~apart), self.rank_trials])

    @property
    def rank_trials(self) -> pl.DataFrame:
        """Trials of ranks, with the time and the work that count in place of those of processes."""
        own = self.trials.drop("wall_s", "work").join(self.of_ranks, on="trial")
        return own.select(self.trials.columns)

    @property
    def measured(self) -> dict[str, set[tuple[str, int | None]]]:
        """Names and N of what can be compared, by its kind."""
        timed = self.compared_trials.filter("valid").select("stage", "workers")
        found: dict[str, set[tuple[str, int | None]]] = {"wall times": set(timed.iter_rows())}
        tests = self.timings["test"].unique(maintain_order=True)
        found["tests of the machine"] = {(test, None) for test in tests}
        return {kind: names for kind, names in found.items() if names}

    @property
    def told(self) -> str:
        """What it measured, in words."""
        told = []
        for kind, names in self.measured.items():
            rows = [
                {"name": stage, "workers": workers}
                for stage, workers in sorted(names)
                if workers is not None
            ]
            told.append(f"{kind} of {named(rows)}" if rows else kind)
        return "; ".join(told) or "nothing that was timed"

    @property
    def missing(self) -> str | None:
        """How many of its planned trials left no record; None where all did."""
        planned = len(self.run.plan.trials)
        lacking = planned - self.trials.height
        return f"{lacking} of {planned}" if lacking else None

    @property
    def inputs(self) -> tuple[tuple[int, str], ...]:
        """Sizes and sha256 of the files that it read, whatever they are called."""
        files = self.manifest["input"]["files"]
        return tuple((file["size_bytes"], file["sha256"]) for file in files)


def refuse_twice(paths: Sequence[Path]) -> None:
    """Refuse a run, or a table, beside itself."""
    places = [path.resolve() for path in paths]
    for place, path in zip(places, paths, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{path} was given twice: name each once")


def nothing_in_common(base: MeasuredRun, new: MeasuredRun) -> str | None:
    """Say what each of two runs measured, where nothing of it is the same; else None."""
    if any(base.measured.get(kind, set()) & own for kind, own in new.measured.items()):
        return None
    told = [f"{run.run.plan.run_id} measured {run.told}" for run in (base, new)]
    return f"{told[0]}, and {told[1]}, so nothing of the two can be compared"


def between(base: MeasuredRun, new: MeasuredRun) -> ComparisonContext:
    """Find out what differs between two runs, and whether their outputs are the same."""
    shared = {entry for entry in base.entries if entry in new.entries}
    commits = [
        (side.manifest["pyscale"]["git_commit"], side.manifest["pyscale"]["git_dirty"])
        for side in (base, new)
    ]
    return ComparisonContext(
        base=base.run.plan.title,
        new=new.run.plan.title,
        measured_here=True,
        interleaved=interleaved_line(base.run.plan),
        nothing_in_common=nothing_in_common(base, new),
        of_ranks=not base.of_ranks.is_empty(),
        differences=tuple(differences(base.facts(shared), new.facts(shared))),
        uncommitted=commits[0] == commits[1] and bool(commits[0][1]),
        missing={
            name: side.missing for name, side in (("base", base), ("new", new)) if side.missing
        },
        outputs=tuple(
            _outputs(entry, base, new, shared)
            for entry in base.entries
            # Of others no wall times are compared, beside which to remark on outputs.
            if entry in shared & base.run.plan.entries_that(shares_windows)
        ),
    )


def _outputs(entry: str, base: MeasuredRun, new: MeasuredRun, shared: set[str]) -> OutputComparison:
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
    """Files of a stage's reference output with their sha256; none where it left no record."""
    for trial in run.plan.trials:
        if trial.entry == entry and trial.is_reference:
            result = None
            with suppress(RecordError):
                result = read_task(run.task(trial, trial.output_task)).result
            files = result.outputs if result is not None else ()
            return {file.name: file.sha256 for file in files if file.name != WINDOW_FILE}
    return {}


def tests_compared(base: MeasuredRun, new: MeasuredRun, *, at_least: float) -> pl.DataFrame | None:
    """Judge tests of the machine that both runs did, node by node, or one node with the other."""
    if base.timings.is_empty() or new.timings.is_empty():
        return None
    nodes = [side.timings["node"].unique(maintain_order=True).to_list() for side in (base, new)]
    alone = all(len(own) == 1 for own in nodes)
    common = [(node, node, node) for node in nodes[0] if node in nodes[1]]
    found = []
    for name, before, after in [(None, nodes[0][0], nodes[1][0])] if alone else common:
        sides = [_side(base, before), _side(new, after)]
        table = compared_tests(sides, machines_side_by_side(sides), 0, 1, at_least=at_least)
        found.append(table.select(pl.lit(name, pl.String).alias("node"), *table.columns))
    return pl.concat(found) if found else None


def _side(run: MeasuredRun, node: str | None) -> MachineSide:
    # A node that is not known is null, which equals nothing otherwise.
    own = run.timings.filter(run.timings["node"].eq_missing(node))
    return MachineSide(machine_tests(own), size_ids_of(run.run.plan), trial_medians(own))


def between_points(
    plan: Plan,
    manifest: Mapping[str, Any],
    tasks: pl.DataFrame,
    trials: pl.DataFrame,
    *,
    at_least: float = MARGIN,
) -> VersionComparison | None:
    """Compare each point with that of the first value of `versus`; None where a run has one."""
    pairs, versus = plan.compared, plan.suite.versus
    if not pairs or versus is None:
        return None
    stage = pl.col("stage")
    new = trials.filter(stage.is_in(list(pairs)))
    # Each point beside its own copy of what it is compared with, under its name and device.
    base = pl.concat(
        trials.filter(stage == older).with_columns(
            stage=pl.lit(entry), device=pl.lit(_first(plan, entry).device)
        )
        for entry, older in pairs.items()
    )
    outputs = tasks.filter(pl.col("beside_trial").is_not_null()).select(
        *("stage", "device", "workers"),
        output_agreement="beside_agreement",
        output_tolerance="beside_tolerance",
        output_identical="beside_identical",
        output_measure="beside_measure",
    )
    table = comparison(base, new, paired=True, at_least=at_least).join(
        outputs, on=["stage", "device", "workers"], how="left", maintain_order="left"
    )
    of_base, of_new = (
        ", ".join(dict.fromkeys(str(plan.suite.stages[entry].point[versus]) for entry in entries))
        for entries in (pairs.values(), pairs)
    )
    context = ComparisonContext(
        base=f"{versus} {of_base}",
        new=f"{versus} {of_new}, in {plan.title}",
        measured_here=True,
        paired=True,
        at_least=at_least,
        differences=tuple(_differences(plan, manifest)),
        outputs=tuple(_output_of(entry, table.filter(stage == entry)) for entry in pairs),
    )
    return VersionComparison(context=context, table=table)


def _first(plan: Plan, entry: str) -> Trial:
    return next(trial for trial in plan.trials if trial.entry == entry)


def _differences(plan: Plan, manifest: Mapping[str, Any]) -> list[Difference]:
    """List in what the points differ, where two values were compared."""
    pairs = plan.compared
    if len({*pairs.values()}) < len(pairs):
        return []
    return differences(_facts_of(plan, manifest, pairs.values()), _facts_of(plan, manifest, pairs))


def _facts_of(plan: Plan, manifest: Mapping[str, Any], entries: Any) -> Facts:
    """Code and parameters of one side, by the names of the families."""
    images = {one["name"]: one for one in (manifest["containers"] or {}).get("images", ())}
    code: dict[str, str] = {}
    settings: dict[str, str] = {}
    for entry in entries:
        trial, family = _first(plan, entry), plan.suite.stages[entry].family
        found = plan.identities.get(str(trial.interpreter or trial.image))
        if found is not None:
            code |= {"python": found.python}
            code |= {"code of the stages (sha256)": found.code_sha256[:SHA_DIGITS]}
            code |= found.packages
        if trial.image in images:
            image = images[trial.image]
            code[f"image of {family} (sha256)"] = image["sha256"][:SHA_DIGITS]
            code[f"commit of the image of {family}"] = (image["git_commit"] or "")[:SHA_DIGITS]
        settings |= {f"{name} of {family}": str(value) for name, value in trial.params.items()}
    return {"code": code, "settings": settings}


def _output_of(entry: str, rows: pl.DataFrame) -> OutputComparison:
    """Whether a point of a grid computed what the one that it is compared with did, at every N."""
    known = rows.drop_nulls("output_agreement")
    if known.is_empty():
        return OutputComparison(stage=entry, found="unknown")
    worst = known.sort("output_agreement").row(0, named=True)
    found = "same" if known["output_identical"].all() else "agrees"
    if (known["output_agreement"] < known["output_tolerance"]).any():
        found = "different"
    return OutputComparison.model_validate(
        {
            "stage": entry,
            "found": found,
            "score": worst["output_agreement"],
            "tolerance": worst["output_tolerance"],
            "measure": worst["output_measure"],
        }
    )
