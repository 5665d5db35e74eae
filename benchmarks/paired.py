"""Two ways of doing one thing, timed in turn, so that a drift of the machine hits both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.monotonic()
    action()
    return time.monotonic() - start


def compare(
    names: tuple[str, str],
    actions: tuple[Callable[[], object], Callable[[], object]],
    *,
    repeats: int,
    warm_up: int = 1,
) -> tuple[list[float], list[float]]:
    """Time two actions in turn, A B B A …, and print medians, their ratio and difference.

    Returns
    -------
    first, second : list of float
        Seconds of each repeat.
    """
    for _ in range(warm_up):
        for action in actions:
            action()
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats):
        for which in (0, 1) if repeat % 2 == 0 else (1, 0):
            times[which].append(seconds(actions[which]))
    first, second = (statistics.median(values) for values in times)
    pairs = [a / b for a, b in zip(*times, strict=True)]
    for name, values in zip(names, times, strict=True):
        low, high = min(values), max(values)
        print(f"{name:<44} median {statistics.median(values):8.4f} s   [{low:.4f}, {high:.4f}]")
    print(
        f"ratio of medians {first / second:.3f}, median of paired ratios "
        f"{statistics.median(pairs):.3f}, difference {first - second:+.4f} s, {repeats} repeats"
    )
    return times
