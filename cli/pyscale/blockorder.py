"""The order within a block of trials: random, as far as the pipeline allows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Set

from pyscale.suite import MOVIE, PLACE, SLIDES, TRUTH, Suite
from pyscale.sweep import Sweep

FROM_OUTSIDE = frozenset([MOVIE, TRUTH, PLACE, SLIDES])
"""What no entry of a suite makes."""


def block_order(
    suite: Suite,
    measured: Set[str],
    sweep: Sweep,
    block: int,
    seed: int,
    *,
    base_first: bool = False,
) -> list[tuple[str, int]]:
    """Entries and worker counts of one block, in the order in which they run.

    The order is random, so that a drift of the machine hits all alike, and so is that of the two
    versions of a stage, which run one after the other. In the first block a trial comes before
    those that need its output, and what measures the machine beside a movie before all.
    """
    configurations = [
        (entry, n)
        for entry in suite.stages
        for n in sweep.workers
        if entry in measured - suite.measured_once
    ]
    if block == 1:
        feeding = _feeding(suite, measured) - measured
        configurations += [(entry, sweep.feeding) for entry in suite.stages if entry in feeding]
    versions: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for entry, n in configurations:
        versions.setdefault((suite.stages[entry].version_of or entry, n), []).append((entry, n))
    pairs = list(versions.values())
    chance = random.Random(f"{seed}/{block}")
    chance.shuffle(pairs)
    for pair in pairs:
        if base_first:
            pair.reverse()
        else:
            chance.shuffle(pair)
    if block > 1:
        return [one for pair in pairs for one in pair]
    ordered = [(entry, 1) for entry in suite.stages if entry in measured & suite.measured_once]
    while pairs:
        waiting = {one for pair in pairs for one in pair}
        ready = next(
            pair
            for pair in pairs
            if not any(
                needed in waiting.difference(pair)
                for entry, n in pair
                for needed in _needed(suite, sweep, entry, n)
            )
        )
        pairs.remove(ready)
        ordered += ready
    return ordered


def _needed(suite: Suite, sweep: Sweep, entry: str, n: int) -> Iterator[tuple[str, int]]:
    """Configurations whose output one needs, as far as they are measured."""
    step = suite.stages[entry]
    for source in step.inputs.values():
        if source not in FROM_OUTSIDE:
            yield source, sweep.feeding
    # In strong scaling every other N is compared with that output, which must be there.
    if not sweep.is_weak and n != sweep.feeding:
        yield entry, sweep.feeding
    if step.beside is not None:
        yield step.beside, n


def _feeding(suite: Suite, measured: Set[str]) -> set[str]:
    """Entries whose outputs the measured entries need, directly or not."""
    needed: set[str] = set()
    frontier = set(measured)
    while frontier:
        sources = {s for entry in frontier for s in suite.stages[entry].inputs.values()}
        frontier = sources - FROM_OUTSIDE - needed
        needed |= frontier
    return needed
