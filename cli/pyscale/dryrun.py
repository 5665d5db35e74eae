"""`pyscale run --dry-run`: what a run would do, submit and cost; nothing is submitted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rich.table import Table

from pyscale.console import answer, talk
from pyscale.cost import StageCost, costs, total
from pyscale.errors import UserError
from pyscale.executors.submission import script, submissions
from pyscale.plan import Plan
from pyscale.sites import Site
from pyscale.slurm.commands import ask, default_partition
from pyscale.store.folder import submissions_of

COST = "Cost at most, if every job runs to its time limit"
_COMMENT = "#SBATCH --comment="


def show(plan: Plan) -> None:
    """Print the trials in their order and, for a cluster, what is submitted and its cost."""
    answer(_trials(plan))
    if plan.site is None:
        return
    found = scripts(plan, plan.site)
    for number, (names, text) in enumerate(found.items(), start=1):
        print(f"==> script {number} of {len(found)}: {', '.join(names)} <==")  # noqa: T201
        print(text)  # noqa: T201 - the command's answer, as it is
    stages = costs(plan, plan.site, cache(_node_cores))
    print(f"{COST}; retries are not counted:")  # noqa: T201 - no line of it is to be broken
    answer(_cost_table(stages))
    if any(stage.core_hours is None for stage in stages):
        talk("?: a job has its nodes for itself, and Slurm does not tell how many cores they have")
    talk(
        f"scripts that are listed together differ in their comment alone; a run gets an id of its "
        f"own in place of {plan.run_id}"
    )


def scripts(plan: Plan, site: Site) -> Mapping[tuple[str, ...], str]:
    """Every distinct script of a plan, by the batches that it is for; the text is the first's."""
    # As the run's own folder will name it, which is not there yet.
    folder = submissions_of(Path(plan.settings["runs_folder"]).resolve() / plan.run_id)
    names: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for trial in plan.trials:
        for submission in submissions(trial):
            text = script(
                site,
                submission,
                threads=plan.settings["cpus_per_worker"],
                run_id=plan.run_id,
                folder=folder,
            )
            shared = "\n".join(one for one in text.splitlines() if not one.startswith(_COMMENT))
            texts.setdefault(shared, text)
            names.setdefault(shared, []).append(f"{trial.id}/{submission.batch_name}")
    return {tuple(names[shared]): text for shared, text in texts.items()}


def _trials(plan: Plan) -> Table:
    table = Table(title=f"{plan.suite.name} on {plan.movie.name} ({plan.movie_frames} frames)")
    for column in ("#", "trial", "workers", "frames of each", "input", "device", "image"):
        table.add_column(column)
    for position, trial in enumerate(plan.trials, start=1):
        lengths = sorted({stop - start for start, stop in trial.windows})
        table.add_row(
            str(position),
            trial.id,
            str(trial.workers),
            " or ".join(map(str, lengths)),
            ", ".join(item.source for item in trial.inputs),
            trial.device,
            trial.image or "none",
        )
    return table


def _cost_table(stages: list[StageCost]) -> Table:
    table = Table("stage")
    for column in ("jobs", "core-hours", "GPU-hours"):
        table.add_column(column, justify="right")
    for stage in stages:
        table.add_row(*_cells(stage))
    table.add_section()
    table.add_row(*_cells(total("total", stages)))
    return table


def _cells(cost: StageCost) -> tuple[str, str, str, str]:
    cores = "?" if cost.core_hours is None else f"{cost.core_hours:.1f}"
    return cost.entry, str(cost.jobs), cores, f"{cost.gpu_hours:.1f}"


def _node_cores(partition: str | None) -> int | None:
    """Cores of the largest node of a partition, where Slurm tells."""
    try:
        named = partition or default_partition()
    except UserError:
        return None
    told = ask("sinfo", "--noheader", "--Node", f"--partition={named}", "--format=%c")
    return max((int(cores) for cores in told.out.split() if cores.isdigit()), default=None)
