"""The order in which the windows of a trial start where it has more of them than workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from pyscale.plan import Plan, Trial

Window = tuple[int, int]


def longest_first(
    windows: Sequence[Window], measured: Sequence[Sequence[tuple[Window, float]]]
) -> list[int]:
    """Order windows by the time that they should take, the longest first.

    A long window that starts last leaves the other workers idle until it ends. The time of a
    window is the sum over its frames of what a frame took in earlier trials; where nothing was
    measured, each frame counts the same. Windows that should take the same keep the order of the
    movie.

    Parameters
    ----------
    windows : sequence of (start, stop)
        Frames of each window.
    measured : sequence of sequence of ((start, stop), wall_s)
        Windows of earlier trials, each of which covers these frames, and their wall times.

    Returns
    -------
    list of int
        Positions in `windows`.
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
    """Trials of the same entry before the first repeat of a trial's own configuration.

    In weak scaling those of fewer frames are not among them: they know nothing of the others.
    All repeats of a configuration learn from the same trials, and so start in the same order:
    what they measure does not depend on which repeat it is.
    """
    before = takewhile(
        lambda other: (other.entry, other.workers) != (trial.entry, trial.workers), plan.trials
    )
    end = trial.windows[-1][1]
    return (other for other in before if other.entry == trial.entry and other.windows[-1][1] >= end)
