"""The runs that would make a choice of N surer, each with the line that measures it."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.experiments import ORDER, Experiment, experiments
from pyscale.plan import Plan
from pyscale.report.advice import limits_near
from pyscale.report.curves import Curve
from pyscale.runline import run_line


def experiments_of(
    curve: Curve,
    own: Sequence[Choice],
    close: Sequence[Limits],
    plan: Plan | None,
    cores: int | None,
) -> tuple[Experiment, ...]:
    """Name the runs that would settle the choices of one curve.

    Parameters
    ----------
    curve : Curve
    own, close
        Its choices, and what limits it near them.
    plan : Plan or None
        None of a table, which no line of pyscale measures.
    cores : int or None
        Of the machine, where all tasks ran on one kind.
    """
    needed = _needed(curve, own, close, plan)
    return tuple(_with_command(one, [curve.key["stage"]], plan, cores) for one in needed)


def next_runs(
    found: Sequence[Curve],
    choices: Sequence[Choice],
    limits: Sequence[Limits],
    plan: Plan | None,
    cores: int | None,
) -> tuple[Experiment, ...]:
    """Name the runs that would settle the best value of all curves, one line for equal ones."""
    merged: dict[Experiment, list[str]] = {}
    for curve in found:
        own = [one for one in choices if curve.owns(one) and one.objective == "knee"]
        for one in _needed(curve, own, limits_near(curve, own, limits), plan):
            merged.setdefault(one, []).append(curve.key["stage"])
    in_order = sorted(merged.items(), key=lambda item: (ORDER.index(item[0].code), -len(item[1])))
    return tuple(
        one.model_copy(
            update={"command": f"pyscale run --extend {plan.run_id} --repeats {one.repeats}"}
        )
        if plan is not None and one.code == "few-repeats"
        else _with_command(one, entries, plan, cores)
        for one, entries in in_order
    )


def threads_of(plan: Plan, entry: str) -> int:
    """Cores and threads of each worker of an entry: all its trials have as many."""
    return plan.threads_of(next(trial for trial in plan.trials if trial.entry == entry))


def _needed(
    curve: Curve, own: Sequence[Choice], close: Sequence[Limits], plan: Plan | None
) -> list[Experiment]:
    fewest = min((row["repeats"] for row in curve.timed if not row["invalid"]), default=0)
    frames = None if plan is None else plan.movie_frames
    needed = (one for choice in own for one in experiments(choice, fewest, close, frames=frames))
    return [*dict.fromkeys(needed)]


def _with_command(
    experiment: Experiment, entries: Sequence[str], plan: Plan | None, cores: int | None
) -> Experiment:
    """Add the line that measures it, where this machine can."""
    if plan is None:
        return experiment
    needed = experiment.workers[-1] * max(threads_of(plan, entry) for entry in entries)
    if plan.site is None and cores is not None and needed > cores:
        lacking = (
            f" It takes {needed} cores, and the machine of this run has {cores}: measure on a "
            "larger one."
        )
        return experiment.model_copy(update={"reason": experiment.reason + lacking})
    line = run_line(plan, entries, experiment)
    return experiment.model_copy(update={"command": line})
