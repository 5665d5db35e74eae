"""The highest cost of a run on a cluster: each job's time limit, times what it holds."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from pyscale.analysis.spending import Prices
from pyscale.executors.submission import Submission, asked_for, submissions
from pyscale.plan import Plan
from pyscale.sbatch.options import ranks_over_nodes
from pyscale.sites import Site
from pyscale_stages.contract import Record

NodeCores = Callable[[str | None], int | None]
"""Cores of the largest node of a partition, None being the default one; None where unknown."""


class StageCost(Record):
    """What the jobs of one entry of the suite can cost at most; retries are not counted."""

    entry: str = Field(description="Entry of the suite")
    jobs: int = Field(description="Jobs, each element of an array being one")
    core_hours: float | None = Field(description="None where a whole node's cores are unknown")
    gpu_hours: float

    def money(self, prices: Prices) -> float | None:
        """Price of all of it; None where something that is held has none."""
        parts = ((self.core_hours, prices.core_hour), (self.gpu_hours, prices.gpu_hour))
        charges = [_charge(hours, price) for hours, price in parts]
        known = [charge for charge in charges if charge is not None]
        return sum(known) if len(known) == len(parts) else None


def prices_of(plan: Plan) -> Prices:
    """Prices of the plan's cluster or, without one, of this machine."""
    if plan.site is not None:
        return plan.site.prices
    # Runs of earlier versions have none.
    return Prices.model_validate(plan.settings.get("prices", {}))


def costs(plan: Plan, site: Site, node_cores: NodeCores) -> list[StageCost]:
    """Cost of each entry of a plan, in the order of the pipeline.

    Parameters
    ----------
    plan : Plan
    site : Site
    node_cores : callable
        A job that has its nodes for itself holds all their cores.
    """
    by_entry: dict[str, list[StageCost]] = {entry: [] for entry in plan.suite.stages}
    for trial in plan.trials:
        threads = plan.threads_of(trial)
        by_entry[trial.entry] += [
            _cost(site, submission, threads, node_cores) for submission in submissions(trial)
        ]
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


def _cost(site: Site, submission: Submission, threads: int, node_cores: NodeCores) -> StageCost:
    wanted = asked_for(site, submission.trial, submission.batch_name, threads)
    hours = wanted.time_min / 60
    named = submission.trial.nodes
    spread = None
    if submission.is_gang and not named:
        spread = ranks_over_nodes(wanted, submission.tasks)
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
