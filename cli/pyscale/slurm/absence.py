"""A controller that is away: how Slurm says so, and how long a request is made again."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TypeVar

from pyscale.errors import UserError

FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0
PATIENCE_S = 300.0
"""Of all pauses together; a controller that restarts is back long before."""
# Whole phrases of Slurm: a site's own refusal may say "try again" or "timed out" too.
_AWAY = re.compile(
    "unable to contact slurm controller"
    "|controller (is )?in standby mode"
    "|socket timed out on send/recv operation"
    "|zero bytes were transmitted or received"
    r"|(job submission failed|create step for job \d+): connection refused",
    re.IGNORECASE,
)
T = TypeVar("T")


def is_away(said: str) -> bool:
    """Whether sbatch or srun says that the controller is away, and not that it refuses."""
    return _AWAY.search(said) is not None


class ControllerAwayError(Exception):
    """The controller did not answer sbatch, and may have taken the job all the same."""


def wait(pause_s: float) -> None:
    """Wait between two requests; a signal is heard meanwhile."""
    threading.Event().wait(pause_s)


class Patience:
    """Pauses between requests while the controller is away, each longer than the one before."""

    def __init__(self) -> None:
        self._waited_s = 0.0
        self._pause_s = FIRST_PAUSE_S

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was waited for yet."""
        return self._waited_s == 0

    @property
    def is_over(self) -> bool:
        """Whether it has been away for too long."""
        return self._waited_s >= PATIENCE_S

    def pause(self) -> None:
        """Wait."""
        wait(self._pause_s)
        self._waited_s += self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)


def persist(
    attempt: Callable[[], T],
    *,
    again: Callable[[], object],
    tell: Callable[[str], object],
    remedy: str,
) -> T:
    """What an attempt returns that is made again while the controller is away, for some minutes.

    `tell` hears once what Slurm said; `again` comes before each further attempt. The UserError at
    the end of the patience names a remedy.
    """
    patience = Patience()
    while True:
        try:
            return attempt()
        except ControllerAwayError as away:
            limit = f"{PATIENCE_S / 60:g} min"
            if patience.is_over:
                raise UserError(f"Slurm took no job in {limit} ({away}): {remedy}") from away
            if patience.is_fresh:
                tell(f"{away}; it is asked again for up to {limit}")
            patience.pause()
        again()
