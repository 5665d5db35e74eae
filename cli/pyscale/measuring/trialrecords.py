"""What the records of a run's trials say: what is left of one, why it failed, what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from pyscale.executors.protocol import WINDOWS
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.traits import shares_result
from pyscale.store.folder import RunFolder
from pyscale.store.records import LAUNCH_FILE
from pyscale.store.taskfiles import read_task, why_not_again
from pyscale_stages.contract import OutputFile, TaskError
from pyscale_stages.errors import EXIT_BAD_INPUT
from pyscale_stages.ranks.rank_failure import LostRank

COMPARING = frozenset(["check", "beside"])
"""Tasks that compare the output of a trial, and add nothing to it."""

Window = tuple[int, int]
Step = tuple[str, tuple[str, ...]]
"""A batch of a trial: its name, and its tasks."""


class Failure(NamedTuple):
    """A failed task of a trial."""

    task: str
    error: TaskError
    node: str = ""
    """Where it ran on a cluster."""

    @property
    def told(self) -> str:
        """The failure in a line; a file may be missing on one node alone."""
        on = f" on {self.node}" if self.node and self.node not in self.error.message else ""
        return f"{self.task}{on}: {self.error.message}"


class TrialRecords:
    """Reads the records of one run's trials as they stand; it writes nothing."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        # Outputs that others need are kept, so what was whole once need not be looked at again.
        self._whole: set[str] = set()

    def states(self, trial: Trial) -> dict[str, str]:
        """State of each task."""
        return {task: read_task(self._run.task(trial, task)).state for task in trial.tasks}

    def has_begun(self, trial: Trial) -> bool:
        """Whether a task of the trial was ever started."""
        return any(self._run.trial(trial).glob(f"*/{LAUNCH_FILE}"))

    def steps_left(self, trial: Trial) -> list[Step]:
        """Steps of a trial that are not done, its windows in the order in which to start them."""
        states = self.states(trial)
        return [
            (name, self._in_order_of_start(trial) if name == WINDOWS else tasks)
            for name, tasks in steps_of(trial)
            if any(states[task] != "done" for task in tasks)
        ]

    def failure(self, trial: Trial, tasks: Sequence[str]) -> Failure | None:
        """The failed task that says most: the first that no other try would mend."""
        records = {task: read_task(self._run.task(trial, task)) for task in tasks}
        failures = [
            Failure(task, one.error, one.launch.node if one.launch and self._run.plan.site else "")
            for task, one in records.items()
            if one.error
        ]
        final = [failure for failure in failures if why_not_again(failure.error)]
        # A rank that only lost another does not know why that one ended.
        own = [failure for failure in failures if failure.error.kind != LostRank.__name__]
        return next(iter([*final, *own, *failures]), None)

    def bytes_of_output(self, trial: Trial) -> tuple[OutputFile, ...]:
        """Files of a trial's output with their hashes."""
        result = read_task(self._run.task(trial, trial.output_task)).result
        return result.outputs if result else ()

    def missing_input(self, trial: Trial) -> str | None:
        """Which output of another trial a trial lacks, in a clause; None where it lacks none."""
        needed = {item.from_trial: "its input" for item in trial.inputs if item.from_trial}
        if trial.compared and not trial.is_reference and not shares_result(trial.stage):
            needed[trial.reference_trial] = "its baseline"
        for trial_id, why in needed.items():
            if not self._has_output(self._run.plan.trial(trial_id)):
                return f"{why}, the output of {trial_id}, is missing"
        return None

    def stands_alone(self, trial: Trial, task: str) -> Failure | None:
        """A failure for lack of what to compare with, which is no reason not to time a trial."""
        others = {
            "check": (trial.reference_trial, "its baseline"),
            "beside": (trial.beside_trial, "its counterpart"),
        }
        other, what = others.get(task, (None, ""))
        if other is None or self._has_output(self._run.plan.trial(other)):
            return None
        message = f"{what}, the output of {other}, is missing"
        return Failure(task, TaskError(kind="NoOutput", message=message, exit_code=EXIT_BAD_INPUT))

    def _has_output(self, trial: Trial) -> bool:
        """Whether a trial's output is whole."""
        # Comparing it may have failed, which makes it no less whole.
        timed = [task for task in trial.tasks if task not in COMPARING]
        if trial.id not in self._whole and all(
            read_task(self._run.task(trial, task)).state == "done" for task in timed
        ):
            self._whole.add(trial.id)
        return trial.id in self._whole

    def _in_order_of_start(self, trial: Trial) -> tuple[str, ...]:
        """Names of a trial's windows, the first to start first."""
        # All of them start at once.
        if len(trial.windows) <= trial.workers:
            return trial.window_tasks
        measured = [self._window_times(other) for other in earlier_trials(self._run.plan, trial)]
        order = longest_first(trial.windows, [times for times in measured if times])
        return tuple(trial.window_tasks[window] for window in order)

    def _window_times(self, trial: Trial) -> list[tuple[tuple[int, int], float]]:
        """Windows of a trial and their wall times; empty where any is missing."""
        results = [read_task(self._run.task(trial, task)).result for task in trial.window_tasks]
        times = [result.wall_s for result in results if result and result.status == "done"]
        return list(zip(trial.windows, times, strict=True)) if len(times) == len(results) else []


def is_complete(run: RunFolder, trial: Trial) -> bool:
    """Whether every task of the trial has its record."""
    return all(read_task(run.task(trial, task)).state == "done" for task in trial.tasks)


def steps_of(trial: Trial) -> list[Step]:
    """Steps of a trial: its windows, then one task each, in their order."""
    after = trial.tasks[len(trial.windows) :]
    return [(WINDOWS, trial.window_tasks), *((task, (task,)) for task in after)]


def longest_first(
    windows: Sequence[Window], measured: Sequence[Sequence[tuple[Window, float]]]
) -> list[int]:
    """Positions in `windows`, by the time that each should take, the longest first.

    A long window that starts last leaves the other workers idle until it ends. A frame counts as it
    took in earlier trials, whose windows and wall times `measured` has; else all count the same.
    """
    known = [window for trial in measured for window, _ in trial]
    rate_s = [0.0 if measured else 1.0] * max(stop for _, stop in (*windows, *known))
    # Each trial covers each frame once, so that what it costs to start a window, which short
    # windows spread over fewer frames, shifts all frames of a trial alike.
    for trial in measured:
        for (start, stop), wall_s in trial:
            for frame in range(start, stop):
                rate_s[frame] += wall_s / (stop - start)
    # Rounded, so that the order does not hang on how a sum is rounded.
    expected_s = [round(sum(rate_s[start:stop]), 6) for start, stop in windows]
    return sorted(range(len(windows)), key=lambda window: -expected_s[window])


def earlier_trials(plan: Plan, trial: Trial) -> Iterator[Trial]:
    """Trials of the same entry, and all its frames, before the first repeat of its configuration.

    All repeats learn from the same trials, and so start in the same order.
    """
    before = takewhile(
        lambda other: (other.entry, other.workers) != (trial.entry, trial.workers), plan.trials
    )
    end = trial.windows[-1][1]
    return (other for other in before if other.entry == trial.entry and other.windows[-1][1] >= end)
