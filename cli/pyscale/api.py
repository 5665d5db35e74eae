"""pyscale from Python: what the commands do, with tables in place of words.

>>> import pyscale
>>> run = pyscale.run("pipeline", data="my.tif", workers=(1, 2, 4))
>>> run.aggregated, pyscale.advise(run).directives

What goes wrong is a `pyscale.UserError` with the sentence that a command would say; what a command
says beside its answer goes to stderr here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.grid.points import trials_of_sizes
from pyscale.analysis.referencemodel import Loaded
from pyscale.analysis.walltimes import is_interleaved
from pyscale.console import talk
from pyscale.errors import UserError, why_no_name
from pyscale.evaluation.advising import advice_of
from pyscale.evaluation.results import (
    ReportOptions,
    analysed,
    context_of_table,
    report_run,
    results_of,
    results_of_table,
)
from pyscale.references.files import all_references, refuse_unknown
from pyscale.references.matching import shown_beside
from pyscale.report.advice import Advice
from pyscale.report.answers import answers_of
from pyscale.report.csv import tables_of
from pyscale.report.directives import Dialect
from pyscale.report.results import Results
from pyscale.report.table import has_sizes, read_sizes
from pyscale.report.write import PAGE_NAME, write_report
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.lock import is_locked
from pyscale.store.tables import TABLES, build_tables

__all__ = ["Advice", "Run", "UserError", "advise", "load", "report", "run", "throughput"]


@dataclass(frozen=True, repr=False)
class Run:
    """What was measured, and what it tells: a run, or a table of wall times.

    Attributes
    ----------
    results
        All that the analysis found.
    folder
        Folder of the run; None of a table.
    page
        The report, where this call wrote one.
    """

    results: Results
    folder: Path | None = None
    page: Path | None = None

    def __repr__(self) -> str:
        return f"<Run {self.folder or self.results.context.title}>"

    @property
    def aggregated(self) -> pl.DataFrame:
        """A row a stage and N: what `benchmark_results_aggregated.csv` holds."""
        return self.results.configurations

    @property
    def trials(self) -> pl.DataFrame:
        """A row a trial."""
        return self.results.trials

    @property
    def tasks(self) -> pl.DataFrame:
        """A row a task."""
        return self.records["tasks"]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every table of the report, by the keys of `answers["files"]`."""
        return tables_of(self.results)

    @cached_property
    def records(self) -> Mapping[str, pl.DataFrame]:
        """Every table of the run, by the names of its Parquet files."""
        if self.folder is None:
            return {}
        tables = build_tables(RunFolder(self.folder))
        return {name: getattr(tables, name) for name in TABLES}

    @cached_property
    def answers(self) -> dict[str, Any]:
        """What `pyscale report --json` prints: claims with their numbers, doubts, what settles."""
        return answers_of(self.results).model_dump(mode="json")

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Trials that have not ended well, which `pyscale resume` measures."""
        from pyscale.measuring.trialrecords import is_complete

        if self.folder is None:
            return ()
        run = RunFolder(self.folder)
        return tuple(trial.id for trial in run.plan.trials if not is_complete(run, trial))


def run(
    suite: str | None = None,
    *,
    only: str | Sequence[str] = (),
    accept_terms: bool = False,
    verbose: bool = True,
    **settings: Any,
) -> Run:
    """Measure a suite, or a step of one's own, and report it: `pyscale run`.

    Parameters
    ----------
    suite
        Its name, or the path of a .toml; None where `step` gives a command of one's own.
    only
        Stages to measure, where not all are meant.
    accept_terms
        Whether the terms of a dataset that must be fetched are agreed to.
    verbose
        Whether its course is shown on stderr.
    **settings
        Settings by the names that `pyscale config show` prints, as in `data="my.tif"`,
        `workers=(1, 2)`, `stages={"segment": {"diameter_px": 30}}` and `grid={"threads": (1, 2)}`;
        of a step its keys too: `step="python my.py {input} {output}", split="frames"`.

    Returns
    -------
    Run
        The run, whose report is written. Where trials failed, `incomplete` names them.
    """
    # What measures takes a while to import.
    from pyscale.planning.runsettings import step_asked_for
    from pyscale.progress.statusview import RunProgress
    from pyscale.starting import carried_by, created, planned
    from pyscale_stages.command.params import CommandParams

    keys = settings.keys() & CommandParams.model_fields
    of_step = {name: settings.pop(name) for name in keys}
    asked = step_asked_for(suite, settings.pop("step", None), of_step)
    if isinstance(settings.get("data"), Path):
        settings["data"] = str(settings["data"])
    stages = [only] if isinstance(only, str) else only
    made = created(planned(asked, settings, stages, accept_terms=accept_terms))
    with RunProgress(made) if verbose else nullcontext() as progress:
        carried = carried_by(made, progress.hear if progress else lambda _event: None)
        _, results = carried.finish()
    carried.wait_for_report()
    return Run(results, made.path, made.report / PAGE_NAME)


def load(run: str | Path | Run | None = None) -> Run:
    """Read a run by its folder, its id or a start or end of that, or the latest; write nothing."""
    folder = _found(run, "what is told is of its trials so far")
    return Run(results_of(folder, writes=False), folder.path)


def report(
    run: str | Path | Run | None = None,
    *,
    table: str | Path | None = None,
    out: str | Path | None = None,
    reference: Sequence[str] = (),
) -> Run:
    """Write the report of a run, or of a table of wall times: `pyscale report`.

    Parameters
    ----------
    run
        As of `load`.
    table
        CSV of wall times over N, or over devices and sizes of images, in place of a run.
    out
        Folder for the report; None is the run's own, or `NAME-report` of a table.
    reference
        Results of others to show; `("none",)` shows none.
    """
    options = ReportOptions(references=tuple(reference))
    own = load_settings().references_folder
    refuse_unknown(options.references, own)
    folder = None if out is None else Path(out)
    _refuse_both(run, table)
    if table is not None:
        return _report_of_table(Path(table), folder, own, options)
    found = _found(run, "the report is of its trials so far, and counts a running one as failed")
    results = report_run(found, folder, options)
    return Run(results, found.path, (folder or found.report) / PAGE_NAME)


def advise(
    run: str | Path | Run | None = None,
    *,
    table: str | Path | None = None,
    objective: str | None = None,
    dialect: Dialect = "sbatch",
    site: str | None = None,
) -> Advice:
    """Say what to request for each stage of a run, or of a table of wall times: `pyscale advise`.

    Parameters
    ----------
    run, table
        As of `report`.
    objective
        What N is best for, as in "fastest", "deadline=30min" or "budget=2.5"; None tells the best
        value and the fastest.
    dialect
        Whose lines `directives` holds: "sbatch", "nextflow" or "snakemake".
    site
        Cluster to ask: a shipped name, or the path of a .toml.
    """
    _refuse_both(run, table)
    return advice_of(
        _found(run, "the advice is from its trials so far") if table is None else Path(table),
        objective=objective,
        dialect=dialect,
        site=site,
    )


def throughput(
    slide_paths: str | Path | Sequence[str | Path],
    *,
    num_workers: int | Sequence[int] = 4,
    world_size: int = 1,
    pool_size: int | Sequence[int] = 8,
    patches_per_slide: int | Sequence[int] = 100,
    patches_per_visit: int | Sequence[int] = 1,
    batch_size: int = 64,
    warmup_batches: int = 10,
    measure_batches: int = 50,
    prefetch_factor: int | None = 2,
    persistent_workers: bool = False,
    pin_memory: bool = False,
    multiprocessing_context: Literal["spawn", "fork", "forkserver"] | None = "spawn",
    seed: int = 42,
    verbose: bool = True,
    make_dataset: Callable[..., Any] | str | None = None,
    **settings: Any,
) -> pl.DataFrame:
    """Measure how fast patches of slides are loaded, as `benchmark_throughput` of wsistream does.

    Parameters
    ----------
    slide_paths
        A folder, a slide, or a list of both; folders are looked into.
    num_workers, pool_size, patches_per_slide, patches_per_visit
        Values to sweep, one or several of each.
    world_size
        Ranks, which share the slides.
    make_dataset
        Function at the top of a module, called with slide paths, pool_size, patches_per_slide,
        patches_per_visit and a seed, or its name as `package.module:name`; None loads patches of
        256 px by wsistream.
    **settings
        As of `run`, above those of the suite `loader_as_published`: `repeats=6, cache="cold"`
        measures with intervals, from storage.

    The others are those of wsistream's function, and of torch's DataLoader.

    Returns
    -------
    polars.DataFrame
        A row a configuration, with the columns of wsistream's results, `in_step_throughput` of
        ranks that wait for each other, and `error` where it failed. The run itself is the latest.
    """
    from pyscale.data.ensure import linked, slides_of
    from pyscale.evaluation.throughput import factory_named, patch_table

    if not isinstance(slide_paths, str | Path):
        known = load_settings(data_folder=settings.get("data_folder"))
        slide_paths = linked(slides_of(slide_paths), "slides", known.data_folder)
    sweep = {
        "num_workers": num_workers,
        "pool_size": pool_size,
        "patches_per_slide": patches_per_slide,
        "patches_per_visit": patches_per_visit,
    }
    own = settings.pop("stages", {})
    with factory_named(make_dataset) as factory:
        loader = {
            "factory": factory,
            "batch_size": batch_size,
            "warmup_batches": warmup_batches,
            "batches": measure_batches,
            "prefetch_factor": prefetch_factor,
            "persistent_workers": persistent_workers,
            "pin_memory": pin_memory,
            "start_method": multiprocessing_context,
            "mpp": None,
            **own.get("loader", {}),
        }
        asked = {
            "data": slide_paths,
            "workers": (world_size,),
            "grid": sweep,
            "seed": seed,
            "verbose": verbose,
            "stages": {**own, "loader": loader},
        }
        done = run("loader_as_published", **asked | settings)
    return patch_table(done.tables["loader"], done.records["loading"])


def _found(run: str | Path | Run | None, told: str) -> RunFolder:
    """The folder of a run; of one that is still measured, what is told of it is said."""
    if isinstance(run, Run):
        if run.folder is None:
            raise UserError("wall times of a table are no run: give the table itself")
        run = run.folder
    found = find_run(load_settings().runs_folder, None if run is None else str(run))
    if is_locked(found.path):
        talk(f"the run {found.path.name} is not finished: {told}")
    return found


def _refuse_both(run: object, table: object) -> None:
    if run is not None and table is not None:
        raise UserError("give a run, or --table with a table of wall times, not both")


def _report_of_table(table: Path, out: Path | None, own: Path, options: ReportOptions) -> Run:
    why_not = why_no_name(table.stem)
    if why_not is not None:
        raise UserError(f"{table} cannot have its name in a report: {why_not}; rename the file")
    find = _of_sizes if has_sizes(table) else results_of_table
    beside = shown_beside(all_references(own).values(), None, asked=options.references)
    results = find(table, beside)
    folder = out or Path(f"{table.stem}-report")
    write_report(folder, results)
    return Run(results, page=folder / PAGE_NAME)


def _of_sizes(table: Path, beside: Iterable[Loaded]) -> Results:
    times = read_sizes(table)
    return analysed(
        trials_of_sizes(times, table.stem),
        context_of_table(table),
        interleaved=is_interleaved(times),
        references=beside,
        find_grids=lambda _configurations: grid_findings_of_table(times, table.stem),
    )
