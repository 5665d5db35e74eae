"""Live progress of a run on a terminal; one line a trial elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pyscale.console import Console
from pyscale.journalwords import said
from pyscale.plan import Plan
from pyscale.status import ENDS
from pyscale.store.journal import Event

SHOWN = {
    "trial_finished",
    "trial_failed",
    "trial_skipped",
    "trial_retried",
    "trial_interrupted",
    "trial_taken_up",
    "jobs_ended",
    "slurm_silent",
    "slurm_answers",
}


class RunProgress:
    """Shows the events of a run as they happen.

    Parameters
    ----------
    plan : Plan
        Tells how many trials there are.
    """

    def __init__(self, plan: Plan) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._ended: set[str] = set()
        self._total = len(plan.trials)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._bar = self._progress.add_task(f"run {plan.run_id}", total=self._total)

    def __enter__(self) -> RunProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def hear(self, event: Event) -> None:
        """Show one event."""
        if event.kind == "trial_started":
            self._progress.update(self._bar, description=event.trial)
        if event.kind in ENDS and event.trial is not None:
            self._ended.add(event.trial)
            self._progress.update(self._bar, completed=len(self._ended))
        if event.kind in SHOWN:
            self._console.print(
                f"[{len(self._ended)}/{self._total}] {said(event)}", markup=False, soft_wrap=True
            )

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()
