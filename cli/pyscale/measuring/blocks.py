"""More blocks of trials for a run: as many as are asked for, or as fit into a time."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.intervals import repeats_needed
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sweep import Scaled, Sweep, block_order
from pyscale.progress.course import Course
from pyscale.progress.statusview import duration
from pyscale.report.results import Results
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.wording import percent_of, seconds_of
from pyscale_stages.wording import plural

FEWEST = 2
"""Blocks that a run has in any case."""


def extended(plan: Plan, repeats: int) -> Plan:
    """The plan of a run with more trials after those that it has, which stay as they are.

    They come in blocks of their own, because only trials of one block count as run at the same
    time.
    """
    have = int(plan.settings["repeats"])
    if repeats <= have:
        raise UserError(
            f"--repeats {repeats}: the run {plan.run_id} has {plural(have, 'trial')} of each "
            "configuration already, and none is taken away: give more"
        )
    sweep, measured = Sweep.of(plan), plan.measured - plan.suite.measured_once
    chunks = int(plan.settings["chunks_per_worker"])
    scaled = {
        trial.entry: Scaled(trial, plan.suite.stages[trial.entry], sweep, chunks)
        for trial in plan.trials
        if trial.is_reference and trial.entry in measured
    }
    last = max(trial.block for trial in plan.trials)
    added = [
        scaled[entry].trial(n, block)
        for block in range(last + 1, last + 1 + repeats - have)
        for entry, n in block_order(plan.suite, measured, sweep, block, plan.settings["seed"])
    ]
    settings = plan.settings | {"repeats": repeats}
    return plan.model_copy(update={"settings": settings, "trials": (*plan.trials, *added)})


class Blocks:
    """Adds blocks to the plan of a run that has a time."""

    def __init__(self, run: RunFolder, journal: Journal) -> None:
        self._run = run
        self._journal = journal
        self._was_narrow = False

    def added(self) -> Sequence[Trial]:
        """Extend the run by a block that fits; return its trials, none where the run is over."""
        settings = self._run.plan.settings
        if (at_most := settings.get("at_most")) is None:
            return ()
        blocks = settings["repeats"]
        plan = extended(self._run.plan, blocks + 1)
        new = plan.trials[len(self._run.plan.trials) :]
        course = Course(self._journal.read())
        longest_s = course.longest_s(new)
        if longest_s is None:
            return ()
        # The mean of the blocks that were has what lies between trials too.
        needed_s = max(longest_s, course.worked_s / blocks)
        if course.worked_s + needed_s > seconds_of(at_most) or self._is_settled():
            return ()
        self._run.replace_plan(plan)
        self._journal.append("run_extended", detail=f"a block of {plural(len(new), 'trial')}")
        return new

    def _is_settled(self) -> bool:
        """Whether every interval was as narrow as was asked for, at two looks in a row."""
        settings = self._run.plan.settings
        if settings.get("until") is None or not is_look(settings["repeats"]):
            return False
        widest = widest_percent(results_of(self._run, tell=lambda _: None, writes=False))
        before = self._was_narrow
        self._was_narrow = widest is not None and widest <= percent_of(settings["until"])
        return before and self._was_narrow


def is_look(blocks: int) -> bool:
    """Whether intervals are looked at after so many blocks: after the first six, then seldom.

    Who ends at the first interval that is narrow ends at one that is so by chance. With looks
    apart, two of which must find it narrow, it holds the truth as often as it says (see
    `benchmarks/sim_until.py`).
    """
    look = repeats_needed()
    while look < blocks:
        look += round(look / 4)
    return look == blocks


def widest_percent(results: Results) -> float | None:
    """Half of the widest 95 % interval of a speedup, of its value; None where one has none."""
    table = results.about_workers().configurations
    halves = [
        50 * (row["speedup_high"] - row["speedup_low"]) / row["speedup"]
        if row["speedup_low"] is not None
        else None
        for row in table.iter_rows(named=True)
        if row["workers"] != row["baseline_workers"] and row["wall_s"] is not None
    ]
    known = [half for half in halves if half is not None]
    return max(known) if known and len(known) == len(halves) else None


def what_time_bought(run: RunFolder, results: Results) -> str:
    """Say how many blocks a run has and how narrow its intervals are, and what more would give."""
    settings, course = run.plan.settings, Course(Journal(run.journal_file).read())
    blocks, widest = settings["repeats"], widest_percent(results)
    told = f"{plural(blocks, 'block')} of trials in {duration(course.worked_s)}"
    needed = repeats_needed()
    if widest is None and blocks >= needed:
        return f"{told}: no interval, because trials failed or only one N was measured"
    if widest is None:
        wanted, gives = needed, f"{needed} would give 95 % intervals"
    else:
        told += f": speedups within {widest:.1f} % of themselves"
        if settings.get("until") and widest <= percent_of(settings["until"]):
            return told
        # An interval narrows with the root of the trials.
        wanted, gives = 2 * blocks, f"twice the blocks would give about {widest / 2**0.5:.1f} %"
    more_s = (wanted - blocks) * course.worked_s / blocks
    extend = f"pyscale extend {run.path.name} --repeats {wanted}"
    return f"{told}; {gives}, in about {duration(more_s)} more: {extend}"
