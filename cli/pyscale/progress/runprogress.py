"""Progress of a run: a line that is redrawn on a terminal, one line a trial elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.text import Text

from pyscale.console import Console
from pyscale.planning.plan import Plan, Trial
from pyscale.progress.course import BEGINNINGS, ENDS, Course, usual_s
from pyscale.progress.statusview import duration, said
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event
from pyscale.wording import seconds_of

SHOWN = {
    "trial_failed",
    "trial_skipped",
    "trial_retried",
    "trial_interrupted",
    "jobs_ended",
    "slurm_silent",
    "slurm_answers",
    "allocation_submitted",
    "pilot_started",
    "allocation_ended",
}
"""Events that are told in words wherever they happen."""


class RunProgress:
    """Shows the events of a run as they happen, after those `before` where it is resumed."""

    def __init__(self, run: RunFolder, before: Sequence[Event] = ()) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._run = run
        self._course = Course(before)
        self._ended = {event.trial for event in before if event.kind == "trial_finished"}
        self._running: str | None = None
        self._earlier_s = usual_s(run.plan)
        self._progress = Progress(
            BarColumn(bar_width=20),
            _Line(self),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
            # Seldom, as the trials have these cores too.
            refresh_per_second=1,
        )
        self._bar = self._progress.add_task("", completed=len(self._ended))
        self._show(run.plan)

    def __enter__(self) -> RunProgress:
        self._print(f"{self._plan.headline}{self._left('; {}')}")
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def hear(self, event: Event) -> None:
        """Show one event."""
        self._course.hear(event)
        if event.kind == "run_extended":
            self._show(RunFolder(self._run.path).plan)
        if event.kind in BEGINNINGS:
            self._running = event.trial
            self._ended.discard(event.trial)
        if event.kind in ENDS:
            self._ended.add(event.trial)
            self._running = None
        self._progress.update(self._bar, completed=len(self._ended))
        if event.kind in SHOWN:
            self._print(f"{self._count} {said(event)}")
        elif event.kind == "trial_finished" and not self._console.is_terminal:
            took_s = self._course.durations_s.get(str(event.trial))
            took = "done" if took_s is None else f"{took_s:.1f} s"
            left = self._left(" ({} left)")
            self._print(f"{self._count} {self._named(event.trial)}: {took}{left}")

    def _show(self, plan: Plan) -> None:
        """Show the trials of a plan, which an extended one has more of."""
        self._plan = plan
        self._trials: Mapping[str, Trial] = {trial.id: trial for trial in plan.trials}
        self._progress.update(self._bar, total=len(plan.trials))

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()

    def line(self) -> str:
        """How far the run is now."""
        since = self._course.under_way.get(str(self._running))
        if self._running is None or since is None:
            return f"{self._count}{self._left('; {} left')}"
        runs_s = (datetime.now(UTC) - since).total_seconds()
        trial = self._trials[self._running]
        lasts_s = self._course.expected_s([trial], self._earlier_s).get(trial.id)
        of = f" of about {lasts_s:.0f} s" if lasts_s is not None else ""
        return (
            f"{self._count} {self._named(self._running)}: {runs_s:.0f}{of or ' s'}"
            f"{self._left('; {} left')}"
        )

    @property
    def _count(self) -> str:
        return f"[{len(self._ended)}/{len(self._trials)}]"

    def _left(self, pattern: str) -> str:
        """The time left in a pattern; nothing where none is known, or nothing is left."""
        if at_most := self._plan.settings.get("at_most"):
            rest_s = max(0.0, seconds_of(at_most) - self._course.worked_s)
            return pattern.format(f"at most {duration(rest_s)}")
        remaining = [trial for trial in self._plan.trials if trial.id not in self._ended]
        left_s = self._course.left_s(remaining, datetime.now(UTC), self._earlier_s)
        if not remaining or left_s is None:
            return ""
        return pattern.format(f"about {duration(left_s)}")

    def _named(self, trial_id: str | None) -> str:
        trial = self._trials[str(trial_id)]
        return f"{trial.entry} N={trial.workers} block {trial.block}"

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


class _Line(ProgressColumn):
    """The line of a run, written anew at each refresh: a trial under way gets older."""

    def __init__(self, progress: RunProgress) -> None:
        super().__init__()
        self._run = progress

    def render(self, task: Task) -> Text:  # noqa: ARG002 - the signature is given
        return Text(self._run.line())
