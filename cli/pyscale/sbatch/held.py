"""One job that holds all that the largest trial of a plan needs, so that all trials fit into it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from pyscale.executors.protocol import WINDOWS
from pyscale.executors.submission import asked_by_window, submissions
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.report.wording import listing
from pyscale.sbatch.options import Allocation, ranks_over_nodes, slurm_options
from pyscale.slurm.commands import longest_min
from pyscale_stages.contract import Record

PILOT_MIB = 512
"""Memory of the pilot and of the srun of each step, which run beside the first tasks."""
PILOT_SHARE_MIB = 256
"""The same for each task of several: nobody knows which of them share the pilot's node."""
DEFAULT_LIMIT_HOURS = 12.0
SHORTEST_MIN = 15
SPARE = 1.5
OF_A_KIND = ("partition", "account", "qos", "constraint", "gpu_type")
"""What jobs may ask of their nodes that one job asks only once."""


class Held(Record):
    """The job that all trials of a plan run in."""

    slot: Allocation = Field(description="What one task of the job asks for")
    slots: int = Field(description="Tasks of the job, each as large as the largest of any trial")

    @property
    def cores(self) -> int:
        """Cores of all of it."""
        return self.slots * self.slot.cpus

    @property
    def nodes_option(self) -> str:
        """Nodes that are asked for, in the words of `--nodes`."""
        spread = ranks_over_nodes(self.slot, self.slots)
        if spread is not None:
            return str(spread.nodes)
        most = min(self.slots, self.slot.request.max_nodes or self.slots)
        return f"1-{most}" if most > 1 else "1"

    def options(self, site: Site, time_min: int) -> dict[str, str | None]:
        """Options of sbatch that ask for the job."""
        slot = self.slot.model_copy(update={"time_min": time_min})
        return {**slurm_options(site, slot, self.slots), "nodes": self.nodes_option}


def is_held(plan: Plan) -> bool:
    """Whether all trials of a plan run in one allocation; plans of earlier versions do not."""
    return plan.site is not None and plan.settings.get("allocation") == "hold"


def why_not_held(plan: Plan, site: Site) -> str | None:
    """Why one allocation cannot serve all trials of a plan, in a clause; None where it can."""
    kinds: dict[str, set[str | None]] = {name: set() for name in OF_A_KIND}
    for trial in plan.trials:
        wanted = asked_by_window(plan, trial, site)
        for name, values in kinds.items():
            values.add(getattr(wanted.request, name))
    # A GPU's type tells nothing of trials that need no GPU.
    kinds["gpu_type"].discard(None)
    for name, values in kinds.items():
        if len(values) > 1:
            told = listing(sorted(value or "none" for value in values))
            return f"its trials need more than one {name.replace('_', ' ')} ({told})"
    held = held_by(plan, site)
    most = held.slot.request.max_nodes
    fewest = int(held.nodes_option.partition("-")[0])
    if most is not None and fewest > most:
        return f"it needs {fewest} nodes, and max_nodes of the site {site.name} is {most}"
    return None


def held_by(plan: Plan, site: Site) -> Held:
    """The smallest job of equal tasks that every trial of a plan fits into."""
    asked = [(one, one.asked(site)) for t in plan.trials for one in submissions(plan, t)]
    windows = [wanted for one, wanted in asked if one.batch_name == WINDOWS]
    cpus = max(wanted.cpus for _, wanted in asked)
    memory_mib = max(wanted.memory_mib for _, wanted in asked)
    gpus = max(wanted.gpus for _, wanted in asked)
    slots = max(
        math.ceil(one.at_once / _in_one_slot(wanted, cpus, memory_mib, gpus))
        for one, wanted in asked
    )
    largest = next(wanted for wanted in windows if wanted.gpus == gpus)
    pilot_mib = PILOT_MIB if slots == 1 else PILOT_SHARE_MIB
    return Held(
        slot=largest.model_copy(
            update={"cpus": cpus, "memory_mib": memory_mib + pilot_mib, "gpus": gpus}
        ),
        slots=slots,
    )


def times_min(
    trials: Sequence[str], known_s: Mapping[str, float], limit_min: int
) -> tuple[int, ...]:
    """Time limits of the allocations that trials need, by the seconds that earlier runs took."""
    needed_min = math.ceil(SPARE * sum(known_s[trial] for trial in trials) / 60)
    whole, rest_min = divmod(needed_min, limit_min)
    last = (min(limit_min, max(SHORTEST_MIN, rest_min)),) if rest_min or not whole else ()
    return (limit_min,) * whole + last


def limit_of(held: Held) -> int:
    """Minutes that one allocation may ask for, by the site's file, its partition and its QOS."""
    request = held.slot.request
    asked_min = 60 * (request.hold_limit_hours or DEFAULT_LIMIT_HOURS)
    return max(1, int(min(asked_min, longest_min(request.partition, request.qos))))


def _in_one_slot(wanted: Allocation, cpus: int, memory_mib: int, gpus: int) -> int:
    fitting = [cpus // wanted.cpus, memory_mib // wanted.memory_mib]
    if wanted.gpus:
        fitting.append(gpus // wanted.gpus)
    return max(1, min(fitting))
