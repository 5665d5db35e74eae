"""The cost of a run on a cluster: core-hours that are used and idle, and money."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from pyscale.analysis.spending import Prices
from pyscale.executors.submission import asked_by_window, steps_asked
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sites import Site
from pyscale.progress.course import usual_s
from pyscale.sbatch.held import (
    SHORTEST_MIN,
    SPARE,
    HeldJob,
    held_trials,
    limit_of,
)
from pyscale.wording import seconds_of
from pyscale_stages.contract import Record

NodeCores = Callable[[str | None], int | None]
"""Cores of the largest node of a partition, None being the default one; None where unknown."""


MARGIN_MIN = 5
"""What an allocation has beside the time limits of its tasks, for all that is not a task."""


def money(cost: Holding, prices: Prices) -> float | None:
    """Price of all that is held; None where something of it has none, or its hours are unknown."""
    held = ((cost.core_hours, prices.core_hour), (cost.gpu_hours, prices.gpu_hour))
    # Nothing held costs nothing, whatever its price.
    charged = [(hours, price) for hours, price in held if hours != 0]
    if any(None in one for one in charged):
        return None
    return sum((hours or 0) * (price or 0) for hours, price in charged)


def prices_of(plan: Plan) -> Prices:
    """Prices of the plan's cluster or, without one, of this machine."""
    if (site := plan.site or plan.queue) is not None:
        return site.prices
    # Runs of earlier versions have none.
    return Prices.model_validate(plan.settings.get("prices", {}))


class Holding(Record):
    """What the jobs come to that hold nodes for the trials of a run."""

    jobs: int = Field(description="Jobs, each of which waits in the queue")
    used_core_hours: float
    idle_core_hours: float | None = Field(
        description="Held and not used; None where a whole node's cores are unknown"
    )
    gpu_hours: float
    idle_gpu_hours: float
    work_s: float = Field(description="Time that the trials take, one after the other")

    @property
    def core_hours(self) -> float | None:
        """Used and idle; None where a whole node's cores are unknown."""
        return None if self.idle_core_hours is None else self.used_core_hours + self.idle_core_hours


def holding(plan: Plan, site: Site, known_s: Mapping[str, float], node_cores: NodeCores) -> Holding:
    """What the jobs of a plan come to.

    Trials that are not `known_s` from earlier runs count as long as their time limits let them
    last.
    """
    parts = [_holding(plan, site, one, known_s, node_cores) for one in held_trials(plan, site)]
    columns = {name: [getattr(part, name) for part in parts] for name in Holding.model_fields}
    return Holding(**{name: None if None in own else sum(own) for name, own in columns.items()})


def _holding(
    plan: Plan, site: Site, one: HeldJob, known_s: Mapping[str, float], node_cores: NodeCores
) -> Holding:
    work_s = core_s = gpu_s = 0.0
    for trial in one.trials:
        lasts_s = known_s.get(trial.id, limit_s(plan, site, trial))
        wanted = asked_by_window(plan, trial, site)
        work_s += lasts_s
        core_s += lasts_s * trial.processes * wanted.cpus
        gpu_s += lasts_s * trial.processes * wanted.gpus
    # Those that come after one whose time runs out are known where the times are.
    is_known = all(trial.id in known_s for trial in one.trials)
    cores: int | None = one.cores
    request = one.slot.request
    if request.has_whole_nodes:
        of_node = node_cores(request.by_name.get("partition"))
        cores = math.ceil(one.cores / of_node) * of_node if of_node else None
    gpu_hours = one.slots * one.slot.gpus * work_s / 3600
    return Holding(
        jobs=max(1, math.ceil(work_s / 60 / limit_of(one, site))) if is_known else 1,
        used_core_hours=core_s / 3600,
        idle_core_hours=None if cores is None else (cores * work_s - core_s) / 3600,
        gpu_hours=gpu_hours,
        idle_gpu_hours=gpu_hours - gpu_s / 3600,
        work_s=work_s,
    )


def time_of(plan: Plan, site: Site, left: Sequence[Trial], held: HeldJob) -> int:
    """Time limit in minutes of the job that trials ask for; what does not fit waits for another."""
    known_s, limit_min = usual_s(plan), limit_of(held, site)
    if at_most := plan.settings.get("at_most"):
        return min(limit_min, SHORTEST_MIN + math.ceil(seconds_of(at_most) / 60))
    # What was never timed may take as long as the limits of its tasks let it.
    most_s = sum(
        SPARE * known_s[trial.id] if trial.id in known_s else limit_s(plan, site, trial)
        for trial in left
    )
    margin_min = 0 if all(trial.id in known_s for trial in left) else MARGIN_MIN
    return min(limit_min, max(SHORTEST_MIN, math.ceil(most_s / 60) + margin_min))


def limit_s(plan: Plan, site: Site, trial: Trial) -> float:
    """The longest that a trial can take by the time limits of its tasks."""
    return sum(
        60.0 * one.wanted.time_min * math.ceil(one.tasks / one.at_once)
        for one in steps_asked(plan, trial, site)
    )
