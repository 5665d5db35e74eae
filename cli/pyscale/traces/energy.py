"""The energy that Slurm counted for jobs, where it can be believed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from pyscale.traces.tasks import TracedTask

UNTOLD_J = frozenset({0, 2**32 - 2, 2**64 - 2})
"""What Slurm writes where no plugin counts energy: nothing, and its two marks of no value."""
MOST_W = 100_000
"""More than any node draws: what is above is a counter that went wrong."""


def joules_of(text: str) -> int:
    """Read joules as Slurm writes them; 0 where they were not counted.

    Raises
    ------
    ValueError
        If it is no whole number.
    """
    joules = int(text)
    return 0 if joules in UNTOLD_J else joules


def job_energy_j(
    own_j: int | None, steps_j: Iterable[int | None], wall_s: float | None, nodes: int | None
) -> float | None:
    """Energy of one job; None where it was not measured.

    Slurm counts the energy of whole nodes for every step, and steps run beside each other: that
    of the external one is the job's, and so is the batch script's on one node. A job's own figure
    is their sum in some releases, as if it had been used twice or thrice, so that the largest of
    the steps' is taken where there are any.

    Parameters
    ----------
    own_j : int or None
        As told of the job itself.
    steps_j : iterable of int or None
        As told of its steps.
    wall_s : float or None
    nodes : int or None
        How many it had.
    """
    known = [joules for joules in steps_j if joules is not None and joules not in UNTOLD_J]
    joules = max(known, default=own_j)
    if joules is None or joules in UNTOLD_J or not wall_s:
        return None
    return float(joules) if 0 < joules <= MOST_W * wall_s * (nodes or 1) else None


def without_shared_energy(tasks: Sequence[TracedTask]) -> list[TracedTask]:
    """Take the energy from tasks that shared a node with another: each has the whole node's."""
    by_nodes: dict[str | None, list[TracedTask]] = defaultdict(list)
    for task in tasks:
        by_nodes[task.node].append(task)
    shared = {id(task) for own in by_nodes.values() for task in _sharing(own)}
    return [replace(task, energy_j=None) if id(task) in shared else task for task in tasks]


def _sharing(tasks: Sequence[TracedTask]) -> Iterator[TracedTask]:
    """Tasks of one node during which another ran there; without times all may have."""
    dated = [(task.interval, task) for task in tasks if task.interval is not None]
    if len(dated) < len(tasks):
        yield from tasks if len(tasks) > 1 else ()
        return
    order = sorted(dated, key=lambda pair: pair[0])
    latest_end = datetime.min
    for place, ((start, end), task) in enumerate(order):
        later = order[place + 1 : place + 2]
        if start < latest_end or any(next_start < end for (next_start, _), _ in later):
            yield task
        latest_end = max(latest_end, end)
