"""Waiting for tasks: the records are watched, and the jobs asked only whether they live."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from watchfiles import watch
from watchfiles._rust_notify import WatchfilesRustInternalError

from pyscale.store.records import EXIT_FILE
from pyscale.store.taskfiles import has_ended, write_vanished

PERIOD_S = 0.5
"""How often jobs are asked whether they live, and how late a record is seen at worst where the
filesystem tells no other node of changes."""
PERIOD_OF_EACH_S = 0.0005
"""What each further task adds to the period: a look at it takes a hundredth of that."""
MOST_WATCHED = 256
"""Tasks that are few enough to watch, so that the end of one is seen at once."""


class Job(Protocol):
    """What does one task or several, each in a folder."""

    def is_alive(self, folder: Path) -> bool:
        """Whether a task may still get a record; asked of each pending one in each period."""


J = TypeVar("J", bound=Job)
Group = tuple[Path, ...]
"""Folders of tasks that start together, in one slot."""


def keep_busy(
    groups: Iterable[Group],
    at_once: int,
    start: Callable[[Mapping[Group, int]], Mapping[Path, J]],
    settle: Callable[[Mapping[Path, J]], bool],
) -> None:
    """Have all groups of tasks done, so many at once.

    `start` starts groups, each in an idle slot, and returns the jobs of their tasks. `settle` is
    told of the jobs of each group that has ended, before its slot gets another, and says whether it
    is done: one that is not comes next.
    """
    waiting = deque(groups)
    idle = list(range(at_once))
    running: dict[Path, J] = {}
    ended: dict[Path, J] = {}
    slots: dict[Group, int] = {}
    while waiting or running:
        started = {waiting.popleft(): slot for slot in idle[: len(waiting)]}
        if started:
            running.update(start(started))
        slots |= started
        del idle[: len(started)]
        ended |= {folder: running.pop(folder) for folder in wait_for_any(running)}
        for group in [group for group in slots if running.keys().isdisjoint(group)]:
            idle = sorted([*idle, slots.pop(group)])
            if not settle({folder: ended.pop(folder) for folder in group}):
                waiting.appendleft(group)


def wait_for_any(jobs: Mapping[Path, Job]) -> Collection[Path]:
    """Folders of tasks that have ended or vanished, as soon as there is one; none without jobs."""
    ended = _ended(jobs)
    moments = _moments(jobs)
    while jobs and not ended:
        next(moments)
        ended = _ended(jobs)
    return ended


def _moments(folders: Collection[Path]) -> Iterator[None]:
    period_s = max(PERIOD_S, len(folders) * PERIOD_OF_EACH_S)
    if len(folders) <= MOST_WATCHED:
        # Where a user has no watch left, as happens on login nodes, the period has to do.
        with suppress(OSError, WatchfilesRustInternalError):
            for _ in watch(
                *folders,
                recursive=False,
                # What a task says on stdout must not wake us: we share its cores.
                watch_filter=lambda _change, path: path.endswith(EXIT_FILE),
                debounce=50,
                step=5,
                rust_timeout=int(period_s * 1000),
                yield_on_timeout=True,
                raise_interrupt=True,
            ):
                yield
    while True:
        time.sleep(period_s)
        yield


def _ended(jobs: Mapping[Path, Job]) -> set[Path]:
    found = set()
    for folder, job in jobs.items():
        if has_ended(folder):
            found.add(folder)
        elif not job.is_alive(folder):
            # Looked for once more: a job may write its record and end between the two questions.
            if not has_ended(folder):
                write_vanished(folder)
            found.add(folder)
    return found
