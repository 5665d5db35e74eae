"""Holding one job beside submitting jobs for each trial: core-hours, money and time to the end."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field

from pyscale.analysis.spending import Prices
from pyscale.executors.protocol import WINDOWS
from pyscale.executors.submission import asked_for, submissions
from pyscale.plan import Plan, Trial
from pyscale.sbatch.held import Held
from pyscale.sites import Site
from pyscale_stages.contract import Record

WAITS_MIN = (10, 60)
"""Queue waits of a job that the time to the end is told for."""


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
    def held_core_hours(self) -> float | None:
        """Used and idle; None where a whole node's cores are unknown."""
        return None if self.idle_core_hours is None else self.used_core_hours + self.idle_core_hours

    def money(self, prices: Prices) -> float | None:
        """Price of all that is held; None where a part of it has none."""
        core_hours = self.held_core_hours
        if core_hours is None:
            return None
        parts = ((core_hours, prices.core_hour), (self.gpu_hours, prices.gpu_hour))
        if any(hours and price is None for hours, price in parts):
            return None
        return sum(hours * (price or 0.0) for hours, price in parts)


def ways(
    plan: Plan,
    site: Site,
    held: Held,
    known_s: Mapping[str, float],
    *,
    longest_min: int,
    node_cores: int | None = None,
) -> tuple[Way, Way]:
    """Both ways to get the jobs of a plan: hold, and each.

    Parameters
    ----------
    plan : Plan
    site : Site
    held : Held
        The job that all trials fit into.
    known_s : mapping of str to float
        Trial -> seconds that it took in earlier runs; others are taken to last as long as their
        time limits let them.
    longest_min : int
        Time limit of one allocation.
    node_cores : int, optional
        Cores of a node, which a job that has its nodes for itself holds all.
    """
    used_s = gpu_s = work_s = tasks_s = 0.0
    jobs = waits = 0
    for trial in plan.trials:
        lasts_s = known_s.get(trial.id, limit_s(plan, site, trial))
        wanted = asked_for(site, trial, WINDOWS, plan.threads_of(trial))
        at_once = trial.processes
        work_s += lasts_s
        tasks_s += lasts_s * at_once
        used_s += lasts_s * at_once * wanted.cpus
        gpu_s += lasts_s * at_once * wanted.gpus
        submitted = list(submissions(trial))
        waits += len(submitted)
        jobs += sum(1 if one.is_gang else one.tasks for one in submitted)
    # As many as are submitted: where times are not known, one.
    is_known = all(trial.id in known_s for trial in plan.trials)
    allocations = max(1, math.ceil(work_s / 60 / longest_min)) if is_known else 1
    # Cores that hold keeps all the time, and core-seconds that each keeps.
    cores: int | None = held.cores
    each_s: float | None = used_s
    if held.slot.request.exclusive:
        nodes = math.ceil(held.cores / node_cores) if node_cores else 0
        cores = nodes * node_cores if node_cores else None
        each_s = tasks_s * node_cores if node_cores else None
    common = {"used_core_hours": used_s / 3600, "work_s": work_s}
    return (
        Way(
            name="hold",
            jobs=allocations,
            waits=allocations,
            idle_core_hours=None if cores is None else (cores * work_s - used_s) / 3600,
            gpu_hours=held.slots * held.slot.gpus * work_s / 3600,
            **common,
        ),
        Way(
            name="each",
            jobs=jobs,
            waits=waits,
            idle_core_hours=None if each_s is None else (each_s - used_s) / 3600,
            gpu_hours=gpu_s / 3600,
            **common,
        ),
    )


def limit_s(plan: Plan, site: Site, trial: Trial) -> float:
    """The longest that a trial can take by the time limits of its tasks."""
    threads = plan.threads_of(trial)
    return sum(
        60.0
        * asked_for(site, trial, one.batch_name, threads).time_min
        * math.ceil(one.tasks / one.at_once)
        for one in submissions(trial)
    )
