"""Trial times from the journal, and the estimated end of a run at that pace."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from pyscale.plan import Trial
from pyscale.store.journal import Event


@dataclass(frozen=True)
class Pace:
    """How long trials took, their waiting for nodes and their checks included.

    Attributes
    ----------
    durations_s : mapping of str to float
        Finished trial -> seconds from its start to its end.
    started : mapping of str to datetime
        Trial under way -> when it began.
    """

    durations_s: Mapping[str, float]
    started: Mapping[str, datetime]

    def median_s(self, trials: Collection[Trial]) -> float | None:
        """Median over those of the trials that have finished."""
        known = [self.durations_s[trial.id] for trial in trials if trial.id in self.durations_s]
        return statistics.median(known) if known else None

    def left_s(
        self,
        remaining: Sequence[Trial],
        now: datetime,
        earlier_s: Mapping[str, float] = MappingProxyType({}),
    ) -> float | None:
        """Seconds until the remaining trials have run, one after the other.

        Each is taken to last as long as others of its configuration did, or as it did in earlier
        runs, or as all that is known.
        """
        if not (self.durations_s or earlier_s):
            return None
        overall = statistics.median([*self.durations_s.values(), *earlier_s.values()])
        by_configuration: dict[str, list[float]] = {}
        for trial_id, duration_s in self.durations_s.items():
            by_configuration.setdefault(_configuration(trial_id), []).append(duration_s)
        usual = {name: statistics.median(values) for name, values in by_configuration.items()}
        total = 0.0
        for trial in remaining:
            lasts_s = usual.get(_configuration(trial.id), earlier_s.get(trial.id, overall))
            if trial.id in self.started:
                lasts_s = max(0.0, lasts_s - (now - self.started[trial.id]).total_seconds())
            total += lasts_s
        return total


def pace_of(events: Sequence[Event]) -> Pace:
    """How long each trial took, and since when those under way run."""
    keeper = PaceKeeper()
    for event in events:
        keeper.hear(event)
    return keeper.pace


class PaceKeeper:
    """Keeps the pace of a run while its events happen."""

    def __init__(self) -> None:
        self._started: dict[str, datetime] = {}
        self._durations_s: dict[str, float] = {}
        self.pace = Pace(self._durations_s, self._started)

    def hear(self, event: Event) -> None:
        """Take one event into account."""
        if event.kind in {"run_started", "pilot_started"}:
            # What began before was interrupted; the time since then was nobody's work.
            self._started.clear()
        if event.trial is None:
            return
        if event.kind == "trial_started":
            self._started[event.trial] = event.time_utc
        elif event.kind == "trial_finished" and event.trial in self._started:
            begun = self._started.pop(event.trial)
            self._durations_s[event.trial] = (event.time_utc - begun).total_seconds()
        elif event.kind == "trial_failed":
            self._started.pop(event.trial, None)


def _configuration(trial_id: str) -> str:
    return trial_id.rpartition("-b")[0]
