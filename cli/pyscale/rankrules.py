"""Options that ranks that wait for each other do not take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.plan import Plan, Trial
from pyscale.sites import Site
from pyscale.suite import Suite
from pyscale.traits import meets, shares_result
from pyscale_stages.errors import BadInput
from pyscale_stages.registry import load_stage


def refuse_more_ranks_than_slides(ranks: int, folder: Path, slides: int) -> None:
    """Raise where some rank would have no slide.

    Parameters
    ----------
    ranks : int
        The most of any trial.
    folder : Path
        Of the slides, or the only one.
    slides : int
        How many there are.

    Raises
    ------
    UserError
    """
    if ranks > slides:
        raise UserError(
            f"each of {ranks} ranks needs at least one slide, but {folder} has {slides} "
            f"slide{'s' * (slides != 1)}: use fewer --workers, or add slides"
        )


def refuse_ranks_apart(
    suite: Suite, measured: Set[str], settings: Mapping[str, Any], site: Site | None
) -> None:
    """Raise where ranks that wait for each other would not all run at the same time.

    Parameters
    ----------
    suite : Suite
    measured : set of str
        Its entries that are measured.
    settings : mapping
        The run's.
    site : Site or None
        The cluster that tasks run on; this machine starts all workers of a trial at once.

    Raises
    ------
    UserError
    """
    entries = sorted(measured & suite.entries_that(meets))
    if not entries:
        return
    entry = entries[0]
    if settings["chunks_per_worker"] > 1:
        raise UserError(
            f"ranks of {entry} work together and have no windows, so --chunks-per-worker "
            f"{settings['chunks_per_worker']} does not apply: leave it out, or set it to 1"
        )
    if settings["layout"] == "array" and site is not None:
        raise UserError(
            f"ranks of {entry} wait for each other and need one job, but --layout array starts "
            "each by itself: leave it out, or set it to gang"
        )


def warn_of_too_many_workers(plan: Plan) -> Iterator[str]:
    """Name what will fail, as its work cannot be shared by so many, where other work can.

    Raises
    ------
    UserError
        If no work of the plan can be shared by one of its numbers of workers.
    """
    shared = plan.entries_that(shares_result)
    trials = [trial for trial in plan.trials if trial.entry in shared and trial.block == 1]
    failing = {trial.id: why for trial in trials if (why := _why_not_shared(trial))}
    for count in sorted({trial.workers for trial in trials}):
        own = [trial for trial in trials if trial.workers == count]
        if all(trial.id in failing for trial in own):
            raise UserError(f"{own[0].entry}: {failing[own[0].id]}")
    for trial in sorted(trials, key=lambda one: (one.entry, one.workers)):
        if trial.id in failing:
            yield f"{trial.entry} will fail with N = {trial.workers}: {failing[trial.id]}"


def _why_not_shared(trial: Trial) -> str | None:
    """Why so many workers cannot share its work; None where they can."""
    stage = load_stage(trial.stage)
    try:
        stage.refuse_workers(stage.params.model_validate(trial.params), trial.workers)
    except BadInput as refused:
        return str(refused)
    return None
