"""What planning, running and reading ask of a stage: how N workers stand to its work.

Each takes the name of a stage; `entries_that` of a suite and of a plan finds entries by one.
"""

from __future__ import annotations

from pyscale_stages.registry import load_stage


def shares_windows(stage: str) -> bool:
    """Whether N workers split a movie, so that wall times tell how it scales."""
    return load_stage(stage).work == "split"


def stands_apart(stage: str) -> bool:
    """Whether wall times say nothing of N workers: its findings are of another kind."""
    return not shares_windows(stage)


def meets(stage: str) -> bool:
    """Whether its workers are ranks, which run at the same time and meet."""
    return load_stage(stage).meets


def has_own_work(stage: str) -> bool:
    """Whether each of these ranks has as much work as one alone, so that rates count."""
    return load_stage(stage).work == "own"


def shares_result(stage: str) -> bool:
    """Whether these ranks share one piece of work, too large for few of them perhaps."""
    return load_stage(stage).work == "shared"


def measures_alone(stage: str) -> bool:
    """Whether each worker does all of it: what its node can do, by test files of its own."""
    return load_stage(stage).work == "each"
