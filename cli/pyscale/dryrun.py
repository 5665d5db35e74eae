"""`pyscale run --dry-run`: what a run would do, submit and cost; nothing is submitted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich import box
from rich.table import Table

from pyscale.analysis.spending import Prices
from pyscale.console import answer, talk
from pyscale.cost import StageCost, costs, prices_of, total
from pyscale.doctor.place import place
from pyscale.doctor.preflight import refuse
from pyscale.doctor.subject import Subject
from pyscale.errors import UserError
from pyscale.executors.submission import Submission, script, submissions
from pyscale.plan import Plan, Trial
from pyscale.report.wording import listing
from pyscale.sites import Site
from pyscale.slurm.commands import ask, default_partition
from pyscale.store.folder import submissions_of
from pyscale.sweep import Sweep

COST = "Cost at most, if every job runs to its time limit"
_COMMENT = "#SBATCH --comment="


@dataclass(frozen=True)
class Script:
    """A batch script and what is submitted by it.

    Attributes
    ----------
    text : str
        As the first is submitted; the others differ in their comment alone.
    submissions : tuple of Submission
    """

    text: str
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


def show(plan: Plan) -> None:
    """Print the trials in their order and, for a cluster, what is submitted and its cost.

    Raises
    ------
    UserError
        If the folder whose storage is to be measured, on this machine, cannot be.
    ResourceExhausted
        If its disk has no room for the tests.
    """
    answer(_trials(plan))
    if plan.site is None:
        _tell_of_place(plan)
        return
    found = scripts(plan, plan.site)
    for number, one in enumerate(found, start=1):
        times = len(one.submissions)
        # The command's answer, as it is: no line of it is to be broken.
        print(  # noqa: T201
            f"==> script {number} of {len(found)}, submitted {times} time{'s' * (times > 1)} <==",
            *one.purposes(),
            "",
            one.text,
            sep="\n",
        )
    stages = costs(plan, plan.site, cache(_node_cores))
    print(f"{COST}; retries are not counted:")  # noqa: T201 - no line of it is to be broken
    prices = prices_of(plan)
    answer(_cost_table(stages, prices))
    if any(stage.core_hours is None for stage in stages):
        talk("?: a job has its nodes for itself, and Slurm does not tell how many cores they have")
    elif prices.is_given and total("total", stages).money(prices) is None:
        talk("?: the site's file has prices under [prices], but not of all that the jobs hold")
    talk(
        "each script is shown as it is first submitted, and differs later in its comment alone; a "
        f"run gets an id of its own in place of {plan.run_id}"
    )


def _tell_of_place(plan: Plan) -> None:
    """Say what is written into the folder whose storage is measured, or refuse that folder."""
    found = list(place(Subject.of_plan(plan)))
    refuse(found)
    for finding in found:
        talk(finding.sentence)


def scripts(plan: Plan, site: Site) -> list[Script]:
    """Every distinct script of a plan, in the order of its first submission."""
    # As the run's own folder will name it, which is not there yet.
    folder = submissions_of(Path(plan.settings["runs_folder"]).resolve() / plan.run_id)
    users: dict[str, list[Submission]] = {}
    texts: dict[str, str] = {}
    for trial in plan.trials:
        for submission in submissions(trial):
            text = script(
                site,
                submission,
                threads=plan.threads_of(trial),
                run_id=plan.run_id,
                folder=folder,
            )
            shared = "\n".join(one for one in text.splitlines() if not one.startswith(_COMMENT))
            texts.setdefault(shared, text)
            users.setdefault(shared, []).append(submission)
    return [Script(text, tuple(users[shared])) for shared, text in texts.items()]


def _trials(plan: Plan) -> Table:
    sweep = Sweep.of(plan)
    # Ranks load patches for as long as they are told, or share an image; the machine takes no data.
    shares_frames = sweep.given == "frames"
    # One worker alone does what it does anywhere.
    tells_sweep = sweep.is_weak if shares_frames else max(sweep.workers) > 1
    table = Table(
        title=f"{plan.suite.name} {plan.on_what}",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        caption=str(sweep) if tells_sweep else None,
    )
    has_inputs = any(trial.inputs for trial in plan.trials)
    columns = ["#", "trial", "N"] + ["windows", "frames\nof each"] * shares_frames
    columns += ["input"] * has_inputs + ["device"]
    in_images = any(trial.image for trial in plan.trials)
    has_threads = any(trial.threads for trial in plan.trials)
    is_shared = any(trial.gpu_sharing != "own" for trial in plan.trials)
    columns += ["threads"] * has_threads + ["GPU\nsharing"] * is_shared + ["image"] * in_images
    for column in columns:
        table.add_column(column, overflow="fold")
    for position, trial in enumerate(plan.trials, start=1):
        lengths = sorted({stop - start for start, stop in trial.windows})
        windows = [str(len(trial.windows)), " or ".join(map(str, lengths))]
        table.add_row(
            str(position),
            trial.id,
            str(trial.workers),
            *(["", ""] if trial.is_of_machine else windows)[: 2 * shares_frames],
            *([_sources(trial)] if has_inputs else []),
            trial.device,
            *([str(plan.threads_of(trial))] if has_threads else []),
            *([trial.gpu_sharing if trial.device == "cuda" else ""] if is_shared else []),
            *([trial.image or "none"] if in_images else []),
        )
    return table


def _sources(trial: Trial) -> str:
    """What a trial reads, or the folder that it measures."""
    return ", ".join(str(item.path) if item.is_place else item.source for item in trial.inputs)


def _cost_table(stages: list[StageCost], prices: Prices) -> Table:
    table = Table()
    money = [f"money ({prices.currency})"] if prices.is_given else []
    for column in ("stage", "jobs", "core-hours", "GPU-hours", *money):
        table.add_column(column, justify="left" if column == "stage" else "right", overflow="fold")
    for stage in stages:
        table.add_row(*_cells(stage, prices))
    table.add_section()
    table.add_row(*_cells(total("total", stages), prices))
    return table


def _cells(cost: StageCost, prices: Prices) -> list[str]:
    hours = [_or_unknown(cost.core_hours, 1), _or_unknown(cost.gpu_hours, 1)]
    money = [_or_unknown(cost.money(prices), 2)] if prices.is_given else []
    return [cost.entry, str(cost.jobs), *hours, *money]


def _or_unknown(value: float | None, decimals: int) -> str:
    return "?" if value is None else f"{value:.{decimals}f}"


def _node_cores(partition: str | None) -> int | None:
    """Cores of the largest node of a partition, where Slurm tells."""
    try:
        named = partition or default_partition()
    except UserError:
        return None
    told = ask("sinfo", "--noheader", "--Node", f"--partition={named}", "--format=%c")
    return max((int(cores) for cores in told.out.split() if cores.isdigit()), default=None)
