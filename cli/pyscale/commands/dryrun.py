"""`pyscale run --dry-run`: what a run would do, submit and cost; nothing is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rich.filesize import decimal
from rich.table import Table

from pyscale.analysis.spending import Prices
from pyscale.console import answer, talk
from pyscale.doctor.files import AMPLE, free_bytes, place
from pyscale.doctor.preflight import UNANSWERED, refuse
from pyscale.errors import UserError
from pyscale.evaluation.cost import (
    Holding,
    holding,
    money,
    prices_of,
    time_of,
)
from pyscale.executors.submission import script_of
from pyscale.findings import Finding
from pyscale.measuring.following import LOG_FILE
from pyscale.measuring.holding import held_parameters
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.planning.sweep import Sweep
from pyscale.progress.course import usual_s
from pyscale.progress.statusview import duration
from pyscale.sbatch.held import held_trials, script_of_job
from pyscale.slurm.commands import default_partition, sinfo
from pyscale.store.folder import submissions_of
from pyscale.wording import listing
from pyscale_stages.wording import plural

COST = "What it costs where every task runs to its time limit:"
USUAL = "What it costs, by the times of earlier runs here:"
RECORDS_BYTES = 5_000_000
"""Records and report of a usual run."""


def show(plan: Plan, found: Sequence[Finding]) -> None:
    """Print what a plan comes to and, for a cluster, what is submitted and its cost.

    `found` is what a run would refuse or warn of, as of `of_dry_run`.
    """
    answer(_summary(plan, found))
    if plan.queue is not None:
        folder = Path(plan.settings["runs_folder"]).resolve() / plan.run_id
        # The command's answer, as it is: no line of it is to be broken.
        print(script_of_job(plan, plan.queue, folder, folder / LOG_FILE))  # noqa: T201
        return
    if plan.site is None:
        # What is written into the folder whose storage is measured.
        placed = list(place(plan))
        refuse(placed)
        for finding in placed:
            talk(str(finding))
        return
    _show_jobs(plan, plan.site)


def _show_jobs(plan: Plan, site: Site) -> None:
    """Print the scripts of the jobs, and what they cost."""
    folder = submissions_of(Path(plan.settings["runs_folder"]).resolve() / plan.run_id)
    jobs = held_trials(plan, site)
    for number, one in enumerate(jobs, start=1):
        time_min = time_of(plan, site, one.trials, one)
        text = script_of(held_parameters(plan, site, one, time_min), folder)
        after = ", after the one before" if number > 1 else ""
        at = "" if one.workers is None else f" at N = {one.workers}"
        of = f": {listing(one.entries)}{at}" if len(jobs) > 1 else ""
        # The command's answer, as it is: no line of it is to be broken.
        print(f"==> allocation {number} of {len(jobs)}{after}{of} <==", "", text, sep="\n")  # noqa: T201
    _show_cost(plan, site)


def _show_cost(plan: Plan, site: Site) -> None:
    """Print what the jobs hold, use and leave idle."""
    known_s = usual_s(plan)
    cost, prices = holding(plan, site, known_s, cache(_node_cores)), prices_of(plan)
    unknown = len(plan.trials) - len(known_s)
    print(COST if unknown else USUAL)  # noqa: T201 - no line of it is to be broken
    answer(_cost_table(cost, prices))
    if cost.idle_core_hours is None:
        talk("?: a job has its nodes for itself, and Slurm does not tell how many cores they have")
    elif prices.is_given and money(cost, prices) is None:
        talk("?: the site's file has prices under [prices], but not of all that the jobs hold")
    if site.jobs == "each-n":
        talk(
            "a job for each N: none idles for another, each waits in the queue by itself, and what "
            "changes on the cluster from job to job counts as a difference between N"
        )
    else:
        talk("idle: cores and GPUs of the largest N that are held while fewer workers run")
    talk("time: of the trials, without the waits of jobs in the queue")


def _cost_table(cost: Holding, prices: Prices) -> Table:
    money_column = [f"money ({prices.currency})"] if prices.is_given else []
    table = Table()
    for column in ("jobs", "core-hours used", "idle", "GPU-hours", "idle", *money_column, "time"):
        table.add_column(column, justify="left" if column == "jobs" else "right", overflow="fold")
    table.add_row(
        str(cost.jobs),
        f"{cost.used_core_hours:.1f}",
        _or_unknown(cost.idle_core_hours, 1),
        f"{cost.gpu_hours:.1f}",
        f"{cost.idle_gpu_hours:.1f}",
        *([_or_unknown(money(cost, prices), 2)] if prices.is_given else []),
        duration(cost.work_s),
    )
    return table


def _summary(plan: Plan, found: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    steps = plan.suite.stages
    entries = dict.fromkeys(steps[t.entry].family or t.entry for t in plan.trials)
    sweep, tasks = Sweep.of(plan), sum(len(trial.tasks) for trial in plan.trials)
    # One worker alone does what it does anywhere.
    shared = sweep.is_weak if sweep.frameless is None else max(sweep.workers) > 1
    at_most = plan.settings.get("at_most")
    rows = {
        "measure": f"{plan.suite.name} {plan.on_what}: {listing(entries)}",
        **({"data": "\n".join(plan.data_lines)} if plan.data_lines else {}),
        "trials": f"{len(plan.trials)} ({plural(tasks, 'task')}) at N = {listing(sweep.workers)}"
        + (f"; {sweep}" if shared else "")
        + (f"; and more as they fit into {at_most}" if at_most else ""),
        "time": _time(plan),
        "disk": _disk(plan),
    }
    # What is missing ends the command, in a sentence of its own.
    if not any(finding.status == "problem" for finding in found):
        rows["missing"] = _nothing_missing(plan, found)
    for row in rows.items():
        table.add_row(*row)
    return table


def _nothing_missing(plan: Plan, found: Sequence[Finding]) -> str:
    """Say that nothing is missing, as far as that is known."""
    if plan.site is None:
        return "nothing"
    silent = next((one.what for one in found if one.code == UNANSWERED), None)
    if silent is not None:
        return f"nothing here; whether Slurm takes the job is unknown: {silent}"
    return "nothing; Slurm would take the job"


def _time(plan: Plan) -> str:
    known, trials = usual_s(plan), len(plan.trials)
    if not known:
        return "unknown: no earlier run here has measured this"
    took = duration(sum(known.values()))
    if len(known) < trials:
        return f"more than {took} ({trials - len(known)} of {plural(trials, 'trial')} unknown)"
    return f"about {took}, by earlier runs here"


def _disk(plan: Plan) -> str:
    runs = Path(plan.settings["runs_folder"])
    free = f"{decimal(free_bytes(runs))} free"
    if plan.movie is None or plan.suite.data == "slides":
        return f"a few MB of records in {runs}; {free}"
    movie = plan.input_bytes
    copies = AMPLE + (len(plan.trials) if plan.settings["keep_outputs"] == "all" else 0)
    return f"at most about {decimal(copies * movie + RECORDS_BYTES)} in {runs}; {free}"


def _or_unknown(value: float | None, decimals: int) -> str:
    return "?" if value is None else f"{value:.{decimals}f}"


def _node_cores(partition: str | None) -> int | None:
    """Cores of the largest node of a partition, where Slurm tells."""
    try:
        named = partition or default_partition()
    except UserError:
        return None
    told = sinfo("%c", "--Node", f"--partition={named}")
    return max((int(cores) for cores in told.out.split() if cores.isdigit()), default=None)
