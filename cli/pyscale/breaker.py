"""The breaker: ends a run whose failures repeat, in place of trying everything."""

from __future__ import annotations

import re

from pyscale.store.journal import Event

IN_A_ROW = 3


class Breaker:
    """Hears the events of a run, and tells when the same failure has come again and again.

    Trials and allocations are counted apart. A trial that finishes begins the count anew.
    """

    def __init__(self) -> None:
        self._trials: dict[str, str] = {}
        self._allocations: list[str] = []

    def hear(self, event: Event) -> None:
        """Take one event into account."""
        if event.kind in {"trial_finished", "run_started"}:
            self._trials.clear()
            self._allocations.clear()
        elif event.kind == "trial_failed" and event.trial is not None:
            # The last try of a trial counts, and its place is that of the last.
            self._trials.pop(event.trial, None)
            self._trials[event.trial] = event.detail
        elif event.kind == "allocation_ended":
            self._allocations.append(event.detail)

    @property
    def reason(self) -> str | None:
        """Why the run is to be stopped, in a sentence; None where it is not."""
        for what, failures in (
            ("trials failed", list(self._trials.values())),
            ("allocations ended", self._allocations),
        ):
            last = failures[-IN_A_ROW:]
            if len(last) == IN_A_ROW and len({_alike(failure) for failure in last}) == 1:
                return (
                    f"{IN_A_ROW} {what} alike in a row without one finished trial ({last[-1]}): "
                    "mend that, then resume the run"
                )
        return None


def _alike(failure: str) -> str:
    """A failure without numbers of jobs, nodes and tasks."""
    return re.sub(r"\d+", "#", failure)
