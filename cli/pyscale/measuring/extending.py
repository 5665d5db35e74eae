"""`pyscale extend`: more trials, or more worker counts, of a run that is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

from pyscale import DISTRIBUTION
from pyscale.errors import UserError
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sweep import Scaled, Sweep, block_order, refuse_more_ranks_than_slides
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import code_commit, read_provenance
from pyscale.wording import listing
from pyscale_stages.wording import plural


def extended(plan: Plan, repeats: int | None, workers: Sequence[int] | None) -> Plan:
    """The plan of a run with more trials after those that it has, which stay as they are.

    They come in blocks of their own, because only trials of one block count as run at the same
    time. Each holds the baseline, so that a machine that has changed since cannot pass for an
    effect of N.
    """
    sweep, wanted = Sweep.of(plan), repeats or int(plan.settings["repeats"])
    new = sorted({*(workers or ())}.difference(sweep.workers))
    _refuse_workers(plan, sweep, new)
    measured = plan.measured - plan.suite.measured_once
    chunks = int(plan.settings["chunks_per_worker"])
    scaled = {
        trial.entry: Scaled.of(trial, plan.suite.stages[trial.entry], sweep, chunks)
        for trial in plan.trials
        if trial.is_reference and trial.entry in measured
    }
    one = next(iter(scaled))
    have = Counter(trial.workers for trial in plan.trials if trial.entry == one)
    if repeats is not None and repeats < max(have.values()):
        raise UserError(
            f"--repeats {repeats}: the run {plan.run_id} has {plural(max(have.values()), 'trial')} "
            "at a worker count already, and none is taken away: give more"
        )
    every = sorted({*sweep.workers, *new})
    missing = {n: wanted - have[n] for n in every}
    first = 1 + max(trial.block for trial in plan.trials)
    added: list[Trial] = []
    for extra in range(max(missing.values())):
        counts = {plan.baseline_workers, *(n for n, lacks in missing.items() if lacks > extra)}
        order = block_order(
            plan.suite,
            measured,
            replace(sweep, workers=tuple(sorted(counts))),
            first + extra,
            plan.settings["seed"],
        )
        added += (scaled[entry].trial(n, first + extra) for entry, n in order)
    if not added:
        raise UserError(
            f"the run {plan.run_id} has {plural(wanted, 'trial')} of each of N = "
            f"{listing(sweep.workers)} already: give more --repeats, or other --workers"
        )
    settings = plan.settings | {"repeats": wanted, "workers": every}
    # Not a copy: a plan refuses two trials of one name.
    return Plan.model_validate(
        dict(plan) | {"settings": settings, "trials": (*plan.trials, *added)}
    )


def changed_code(run: RunFolder) -> str | None:
    """Say in a sentence that the code is not what the run began with; None where it is."""
    began, now = read_provenance(run.path), (version(DISTRIBUTION), code_commit())
    then = (began.pyscale_version, began.git_commit)
    if then == now:
        return None
    said = [f"{release}{f' ({commit[:12]})' if commit else ''}" for release, commit in (then, now)]
    return (
        f"the run {run.path.name} began with pyscale {said[0]}, and this is {said[1]}: its report "
        "names the first alone; start a new run where the stages have changed"
    )


def _refuse_workers(plan: Plan, sweep: Sweep, new: Sequence[int]) -> None:
    """Raise where worker counts would change what the run has, or cannot be."""
    if not new:
        return
    if new[0] < plan.baseline_workers:
        raise UserError(
            f"--workers {new[0]} is below the baseline N = {plan.baseline_workers} of the run "
            f"{plan.run_id}, against which its speedups are measured: start a new run"
        )
    if plan.compared:
        # Their outputs are set side by side in the first block of each N.
        raise UserError(
            "--workers: this is a run of devices or other values side by side: extend it by "
            "--repeats, or start anew"
        )
    if sweep.frameless is None and sweep.is_weak and new[-1] > max(sweep.workers):
        raise UserError(
            f"--workers {new[-1]}: in weak scaling the largest N has the whole movie, and that of "
            f"this run is {max(sweep.workers)}: start a new run"
        )
    if sweep.frameless is None and new[-1] > plan.movie_frames:
        replace(sweep, workers=(new[-1],)).refuse_too_short(plan.on_what.removeprefix("on "))
    if sweep.frameless == "slides" and plan.movie is not None:
        refuse_more_ranks_than_slides(new[-1], plan.movie, plan.movie_frames)
