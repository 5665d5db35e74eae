"""The cost of a run on a cluster: at most, and of each way to get its jobs.

At most each job runs to its time limit. One job for all trials (hold) stands beside jobs for each
trial (each): core-hours, money and time to the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from pyscale.analysis.spending import Prices
from pyscale.executors.submission import Submission, asked_by_window, submissions
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sites import Site
from pyscale.progress.course import usual_s
from pyscale.sbatch.held import SHORTEST_MIN, SPARE, Held, HeldTrials, limit_of, times_min
from pyscale.sbatch.options import ranks_over_nodes
from pyscale_stages.contract import Record

NodeCores = Callable[[str | None], int | None]
"""Cores of the largest node of a partition, None being the default one; None where unknown."""


MARGIN_MIN = 5
"""What an allocation has beside the time limits of its tasks, for all that is not a task."""
WAITS_MIN = (10, 60)
"""Queue waits of a job that the time to the end is told for."""


class StageCost(Record):
    """What the jobs of one entry of the suite can cost at most; retries are not counted."""

    entry: str = Field(description="Entry of the suite")
    jobs: int = Field(description="Jobs, each element of an array being one")
    core_hours: float | None = Field(description="None where a whole node's cores are unknown")
    gpu_hours: float


def money(cost: StageCost | Way, prices: Prices) -> float | None:
    """Price of all that is held; None where something of it has none, or its hours are unknown."""
    charges = (
        _charge(cost.core_hours, prices.core_hour),
        _charge(cost.gpu_hours, prices.gpu_hour),
    )
    return None if None in charges else sum(filter(None, charges))


def prices_of(plan: Plan) -> Prices:
    """Prices of the plan's cluster or, without one, of this machine."""
    if plan.site is not None:
        return plan.site.prices
    # Runs of earlier versions have none.
    return Prices.model_validate(plan.settings.get("prices", {}))


def costs(plan: Plan, site: Site, node_cores: NodeCores) -> list[StageCost]:
    """Cost of each entry of a plan, in the order of the pipeline."""
    by_entry: dict[str, list[StageCost]] = {entry: [] for entry in plan.suite.stages}
    for trial in plan.trials:
        by_entry[trial.entry] += [_cost(site, one, node_cores) for one in submissions(plan, trial)]
    return [total(entry, parts) for entry, parts in by_entry.items() if parts]


def total(name: str, parts: list[StageCost]) -> StageCost:
    """Sum of some costs; unknown where one of them is."""
    known = [part.core_hours for part in parts if part.core_hours is not None]
    return StageCost(
        entry=name,
        jobs=sum(part.jobs for part in parts),
        core_hours=sum(known) if len(known) == len(parts) else None,
        gpu_hours=sum(part.gpu_hours for part in parts),
    )


def _charge(hours: float | None, price: float | None) -> float | None:
    """Price of what is held; nothing held costs nothing, whatever its price."""
    if hours == 0:
        return 0.0
    return None if hours is None or price is None else hours * price


def _cost(site: Site, submission: Submission, node_cores: NodeCores) -> StageCost:
    wanted = submission.asked(site)
    hours = wanted.time_min / 60
    spread = ranks_over_nodes(wanted, submission.tasks) if submission.is_gang else None
    # At most a node for each task, unless the site says how many share one.
    nodes, tasks_each = (spread.nodes, spread.ranks_each) if spread else (submission.tasks, 1)
    cores: int | None = wanted.cpus * submission.tasks
    if wanted.request.exclusive:
        of_node = node_cores(wanted.request.partition)
        cores = None if of_node is None else of_node * nodes
    return StageCost(
        entry=submission.trial.entry,
        jobs=1 if submission.is_gang else submission.tasks,
        core_hours=None if cores is None else cores * hours,
        gpu_hours=wanted.gpus * nodes * tasks_each * hours,
    )


class Way(Record):
    """What one way to get jobs comes to."""

    name: str = Field(description="hold or each")
    jobs: int = Field(description="Jobs, each element of an array being one")
    waits: int = Field(description="Times that the run waits in the queue, at most")
    used_core_hours: float
    idle_core_hours: float | None = Field(
        description="Held and not used; None where a whole node's cores are unknown"
    )
    gpu_hours: float
    work_s: float = Field(description="Time that the trials take, one after the other")

    def lasts_s(self, wait_min: float) -> float:
        """Time to the end of the run where each job waits so long."""
        return self.work_s + 60 * wait_min * self.waits

    @property
    def core_hours(self) -> float | None:
        """Used and idle; None where a whole node's cores are unknown."""
        return None if self.idle_core_hours is None else self.used_core_hours + self.idle_core_hours


def ways(
    plan: Plan,
    site: Site,
    jobs: Sequence[HeldTrials],
    known_s: Mapping[str, float],
    node_cores: NodeCores,
) -> tuple[Way, Way]:
    """Both ways to get the jobs of a plan: hold, and each.

    Trials that are not `known_s` from earlier runs count as long as their time limits let them
    last.
    """
    held = [_held(plan, site, one, known_s, node_cores) for one in jobs]
    each = [_each(plan, site, one, known_s, node_cores) for one in jobs]
    return _sum("hold", held), _sum("each", each)


def _held(
    plan: Plan, site: Site, one: HeldTrials, known_s: Mapping[str, float], node_cores: NodeCores
) -> Way:
    """What one job that holds nodes for trials comes to."""
    work = _work(plan, site, one, known_s)
    # As many as are submitted: where times are not known, one.
    is_known = all(trial.id in known_s for trial in one.trials)
    allocations = max(1, math.ceil(work.lasts_s / 60 / limit_of(one.held))) if is_known else 1
    cores: int | None = one.held.cores
    request = one.held.slot.request
    if request.exclusive:
        of_node = node_cores(request.partition)
        cores = math.ceil(one.held.cores / of_node) * of_node if of_node else None
    return Way(
        name="hold",
        jobs=allocations,
        waits=allocations,
        used_core_hours=work.core_s / 3600,
        idle_core_hours=None if cores is None else (cores * work.lasts_s - work.core_s) / 3600,
        gpu_hours=one.held.slots * one.held.slot.gpus * work.lasts_s / 3600,
        work_s=work.lasts_s,
    )


def _each(
    plan: Plan, site: Site, one: HeldTrials, known_s: Mapping[str, float], node_cores: NodeCores
) -> Way:
    """What jobs of their own for the same trials come to."""
    work = _work(plan, site, one, known_s)
    submitted = [each for trial in one.trials for each in submissions(plan, trial)]
    held_s: float | None = work.core_s
    request = one.held.slot.request
    if request.exclusive:
        of_node = node_cores(request.partition)
        held_s = work.task_s * of_node if of_node else None
    return Way(
        name="each",
        jobs=sum(1 if each.is_gang else each.tasks for each in submitted),
        waits=len(submitted),
        used_core_hours=work.core_s / 3600,
        idle_core_hours=None if held_s is None else (held_s - work.core_s) / 3600,
        gpu_hours=work.gpu_s / 3600,
        work_s=work.lasts_s,
    )


class _Work(NamedTuple):
    """Seconds of trials, of their tasks, and of the cores and GPUs that compute in them."""

    lasts_s: float
    task_s: float
    core_s: float
    gpu_s: float


def _work(plan: Plan, site: Site, one: HeldTrials, known_s: Mapping[str, float]) -> _Work:
    each = []
    for trial in one.trials:
        lasts_s = known_s.get(trial.id, limit_s(plan, site, trial))
        wanted, task_s = asked_by_window(plan, trial, site), lasts_s * trial.processes
        each.append(_Work(lasts_s, task_s, task_s * wanted.cpus, task_s * wanted.gpus))
    return _Work(*map(sum, zip(*each, strict=True)))


def _sum(name: str, parts: Sequence[Way]) -> Way:
    idle = [part.idle_core_hours for part in parts if part.idle_core_hours is not None]
    return Way(
        name=name,
        jobs=sum(part.jobs for part in parts),
        waits=sum(part.waits for part in parts),
        used_core_hours=sum(part.used_core_hours for part in parts),
        idle_core_hours=sum(idle) if len(idle) == len(parts) else None,
        gpu_hours=sum(part.gpu_hours for part in parts),
        work_s=sum(part.work_s for part in parts),
    )


def times_of(plan: Plan, site: Site, left: Sequence[Trial], held: Held) -> tuple[int, ...]:
    """Time limits in minutes of the allocations that trials of a plan need, one after the other."""
    known_s, limit_min = usual_s(plan), limit_of(held)
    if all(trial.id in known_s for trial in left):
        return times_min([trial.id for trial in left], known_s, limit_min)
    # What was never timed may take as long as the limits of its tasks let it.
    most_s = sum(
        SPARE * known_s[trial.id] if trial.id in known_s else limit_s(plan, site, trial)
        for trial in left
    )
    return (min(limit_min, max(SHORTEST_MIN, math.ceil(most_s / 60) + MARGIN_MIN)),)


def limit_s(plan: Plan, site: Site, trial: Trial) -> float:
    """The longest that a trial can take by the time limits of its tasks."""
    return sum(
        60.0 * one.asked(site).time_min * math.ceil(one.tasks / one.at_once)
        for one in submissions(plan, trial)
    )
