"""`pyscale run --dry-run`: what a run would do, submit and cost; nothing is submitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich import box
from rich.filesize import decimal
from rich.table import Table

from pyscale.analysis.spending import Prices
from pyscale.console import answer, talk
from pyscale.doctor.disks import place
from pyscale.doctor.findings import Finding
from pyscale.doctor.preflight import AMPLE, UNANSWERED, free_bytes, refuse, size_bytes
from pyscale.doctor.subject import Subject
from pyscale.errors import UserError
from pyscale.evaluation.cost import (
    WAITS_MIN,
    StageCost,
    Way,
    costs,
    money,
    prices_of,
    times_of,
    total,
    ways,
)
from pyscale.executors.submission import Submission, script, script_of, submissions
from pyscale.measuring.holding import held_parameters
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import measures_alone
from pyscale.progress.course import usual_s
from pyscale.progress.statusview import duration
from pyscale.report.wording import listing
from pyscale.sbatch.held import held_trials, is_held, why_not_held
from pyscale.slurm.commands import default_partition, sinfo
from pyscale.store.folder import submissions_of
from pyscale_stages.wording import plural

COST = "The most that it can cost, if every job runs to its time limit"
RECORDS_BYTES = 5_000_000
"""Records and report of a usual run."""
_COMMENT = "#SBATCH --comment="


@dataclass(frozen=True)
class Script:
    """A batch script and what is submitted by it."""

    text: str
    """As the first is submitted; the others differ in their comment alone."""
    submissions: tuple[Submission, ...]

    def purposes(self) -> Iterator[str]:
        """Say which batches of which stages it is for, at which worker counts."""
        entries: dict[str, dict[int, dict[str, None]]] = {}
        for one in self.submissions:
            counts = entries.setdefault(one.batch_name, {})
            counts.setdefault(one.trial.workers, {})[one.trial.entry] = None
        for batch_name, counts in entries.items():
            alike: dict[frozenset[str], list[int]] = {}
            for workers, names in sorted(counts.items()):
                alike.setdefault(frozenset(names), []).append(workers)
            for workers_alike in alike.values():
                names = counts[workers_alike[0]]
                yield f"{batch_name} at N = {listing(workers_alike)}: {', '.join(names)}"


def show(plan: Plan, found: Sequence[Finding], *, verbose: bool = False) -> None:
    """Print what a plan comes to and, for a cluster, what is submitted and its cost.

    `found` is what a run would refuse or warn of, as of `of_dry_run`.
    """
    answer(_summary(plan, found))
    if verbose:
        answer(_trials(plan))
    if plan.site is None:
        # What is written into the folder whose storage is measured.
        placed = list(place(Subject.of_plan(plan)))
        refuse(placed)
        for finding in placed:
            talk(finding.sentence)
        if not verbose:
            talk("-v lists each trial")
        return
    if is_held(plan):
        _show_held(plan, plan.site)
        return
    distinct = scripts(plan, plan.site)
    for number, one in enumerate(distinct, start=1):
        count = len(one.submissions)
        times = f"{count} time{'s' * (count > 1)}"
        # The command's answer, as it is: no line of it is to be broken.
        print(  # noqa: T201
            f"==> script {number} of {len(distinct)}, submitted {times} <==",
            *one.purposes(),
            "",
            one.text,
            sep="\n",
        )
    stages = costs(plan, plan.site, cache(_node_cores))
    print(f"{COST} (retries add to it):")  # noqa: T201 - no line of it is to be broken
    prices = prices_of(plan)
    answer(_cost_table(stages, prices))
    if any(stage.core_hours is None for stage in stages):
        talk("?: a job has its nodes for itself, and Slurm does not tell how many cores they have")
    elif prices.is_given and money(total("total", stages), prices) is None:
        talk("?: the site's file has prices under [prices], but not of all that the jobs hold")
    talk(
        "later submissions of a script differ in their comment, and in the job that each waits "
        f"for; the run gets another id than {plan.run_id}"
    )
    if why_not_held(plan, plan.site) is None:
        _show_ways(plan, plan.site)


def _show_held(plan: Plan, site: Site) -> None:
    """Print the script of the one job, and what it costs beside jobs for each trial."""
    folder = submissions_of(Path(plan.settings["runs_folder"]).resolve() / plan.run_id)
    jobs = [
        (one, time_min)
        for one in held_trials(plan, site)
        for time_min in times_of(plan, site, one.trials, one.held)
    ]
    for number, (one, time_min) in enumerate(jobs, start=1):
        text = script_of(held_parameters(plan, site, one.held, time_min), folder)
        after = ", after the one before" if number > 1 else ""
        of = f": {listing(dict.fromkeys(t.entry for t in one.trials))}" if len(jobs) > 1 else ""
        # The command's answer, as it is: no line of it is to be broken.
        print(f"==> allocation {number} of {len(jobs)}{after}{of} <==", "", text, sep="\n")  # noqa: T201
    _show_ways(plan, site)


def _show_ways(plan: Plan, site: Site) -> None:
    """Print what holding one job costs, and what jobs for each trial do."""
    known_s: dict[str, float] = {}
    for way in ("each", "hold"):
        settings = {**plan.settings, "allocation": way}
        # usual_s takes only runs that got their jobs in the same way.
        known_s |= usual_s(plan.model_copy(update={"settings": settings}))
    both = ways(plan, site, held_trials(plan, site), known_s, cache(_node_cores))
    unknown = len(plan.trials) - len(known_s)
    prices = prices_of(plan)
    print("Jobs that hold nodes for all trials (hold), and jobs for each trial (each):")  # noqa: T201
    answer(_waits_table(both) if unknown else _ways_table(both, prices))
    hold, each = both
    held_hours = [way.core_hours for way in both if way.core_hours is not None]
    if len(held_hours) < len(both):
        talk("?: a job has its nodes for itself, and Slurm does not tell how many cores they have")
        return
    if unknown:
        some = "" if unknown == len(plan.trials) else f"{unknown} of "
        talk(
            f"hold keeps the cores of the largest N all the time. No earlier run here has measured "
            f"{some}these {len(plan.trials)} trials: if every task ran to its time limit, hold "
            f"would take {held_hours[0]:.1f} core-hours and each {held_hours[1]:.1f}"
        )
        return
    cheaper = "each is cheaper" if held_hours[0] > held_hours[1] else "hold is no dearer"
    talk(
        f"{cheaper}: hold takes {held_hours[0] / held_hours[1]:.2f} times the core-hours of each, "
        f"and waits {hold.waits} time{'s' * (hold.waits != 1)} in the queue where each waits "
        f"at most {plural(each.waits, 'time')}"
    )


def _table(columns: Sequence[str]) -> Table:
    """A table of numbers whose first column says of what."""
    table = Table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def _waits_table(both: tuple[Way, ...]) -> Table:
    table = _table(["way", "jobs", *(f"in the queue at {wait} min a job" for wait in WAITS_MIN)])
    for way in both:
        waiting = (duration(60 * wait * way.waits) for wait in WAITS_MIN)
        table.add_row(way.name, str(way.jobs), *waiting)
    return table


def _ways_table(both: tuple[Way, ...], prices: Prices) -> Table:
    lasts = [f"time at {wait} min a job" for wait in WAITS_MIN]
    used = ["way", "jobs", "core-hours used", "idle", "GPU-hours"]
    table = _table([*used, *_money(prices), *lasts])
    for way in both:
        table.add_row(
            way.name,
            str(way.jobs),
            f"{way.used_core_hours:.1f}",
            _or_unknown(way.idle_core_hours, 1),
            f"{way.gpu_hours:.1f}",
            *([_or_unknown(money(way, prices), 2)] if prices.is_given else []),
            *(duration(way.lasts_s(wait)) for wait in WAITS_MIN),
        )
    return table


def _money(prices: Prices) -> list[str]:
    """The column of what it costs, where there are prices."""
    return [f"money ({prices.currency})"] if prices.is_given else []


def scripts(plan: Plan, site: Site) -> list[Script]:
    """Every distinct script of a plan, in the order of its first submission."""
    # As the run's own folder will name it, which is not there yet.
    folder = submissions_of(Path(plan.settings["runs_folder"]).resolve() / plan.run_id)
    users: dict[str, list[Submission]] = {}
    texts: dict[str, str] = {}
    for trial in plan.trials:
        for submission in submissions(plan, trial):
            text = script(site, submission, run_id=plan.run_id, folder=folder)
            shared = "\n".join(one for one in text.splitlines() if not one.startswith(_COMMENT))
            texts.setdefault(shared, text)
            users.setdefault(shared, []).append(submission)
    return [Script(text, tuple(users[shared])) for shared, text in texts.items()]


def _summary(plan: Plan, found: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    steps = plan.suite.stages
    entries = dict.fromkeys(steps[t.entry].family or t.entry for t in plan.trials)
    sweep, tasks = Sweep.of(plan), sum(len(trial.tasks) for trial in plan.trials)
    # One worker alone does what it does anywhere.
    shared = sweep.is_weak if sweep.frameless is None else max(sweep.workers) > 1
    rows = {
        "measure": f"{plan.suite.name} {plan.on_what}: {listing(entries)}",
        "trials": f"{len(plan.trials)} ({plural(tasks, 'task')}) at N = {listing(sweep.workers)}"
        + (f"; {sweep}" if shared else ""),
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
    silent = next((one.sentence for one in found if one.check in UNANSWERED), None)
    if silent is not None:
        return f"nothing here; whether Slurm takes the job is unknown: {silent}"
    return "nothing; Slurm would take the job" + "s" * (not is_held(plan))


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
    movie = size_bytes(plan.movie)
    copies = AMPLE + (len(plan.trials) if plan.settings["keep_outputs"] == "all" else 0)
    return f"at most about {decimal(copies * movie + RECORDS_BYTES)} in {runs}; {free}"


def _trials(plan: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    # Ranks load patches for as long as they are told, or share an image; the machine takes no data.
    shares_frames = Sweep.of(plan).frameless is None
    has_threads = any(trial.threads for trial in plan.trials)
    in_images = any(trial.image for trial in plan.trials)
    rows = []
    for position, trial in enumerate(plan.trials, start=1):
        lengths = sorted({stop - start for start, stop in trial.windows})
        sources = [str(one.path) if one.is_place else one.source for one in trial.inputs]
        has_windows = shares_frames and not measures_alone(trial.stage)
        rows.append(
            {
                "#": str(position),
                "trial": trial.id,
                "N": str(trial.workers),
                "windows": str(len(trial.windows)) if has_windows else None,
                "frames\nof each": " or ".join(map(str, lengths)) if has_windows else None,
                "input": ", ".join(sources) if sources else None,
                "device": trial.device,
                "threads": str(plan.threads_of(trial)) if has_threads else None,
                "image": (trial.image or "none") if in_images else None,
            }
        )
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(row[column] for column in columns))
    return table


def _cost_table(stages: list[StageCost], prices: Prices) -> Table:
    table = _table(["stage", "jobs", "core-hours", "GPU-hours", *_money(prices)])
    for stage in stages:
        table.add_row(*_cells(stage, prices))
    table.add_section()
    table.add_row(*_cells(total("total", stages), prices))
    return table


def _cells(cost: StageCost, prices: Prices) -> list[str]:
    hours = [_or_unknown(cost.core_hours, 1), _or_unknown(cost.gpu_hours, 1)]
    charged = [_or_unknown(money(cost, prices), 2)] if prices.is_given else []
    return [cost.entry, str(cost.jobs), *hours, *charged]


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
