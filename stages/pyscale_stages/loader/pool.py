"""The pool of open slides, and the order of their turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pyscale_stages.loader.keptslides import Opened

D = TypeVar("D")


@dataclass(frozen=True)
class Rotation:
    """How long each slide is drawn from.

    `pool_size`: slides that are open at once. `patches_per_slide`: patches of a slide before
    another takes its place. `patches_per_visit`: patches of a slide before the next slide of the
    pool has its turn.
    """

    pool_size: int
    patches_per_slide: int
    patches_per_visit: int


@dataclass
class _Seat:
    """A member, and how many patches it has given since it was opened."""

    member: Opened
    given: int = 0


class Pool:
    """Slides that are open at once, drawn from in turn and for ever.

    The order of the slides is drawn anew each time that all have had their turn. A slide that
    has given its share is closed, and the next of the order comes last in the pool. No order is
    begun while as many members are open as there are slides; one that was begun is opened as far
    as there is room, so a slide may be in the pool twice.

    `paths`: the slides. `rotation`: how long each is drawn from. `generator`: what draws the order.
    `open_member`: opens one of the slides.
    """

    def __init__(
        self,
        paths: Sequence[str],
        rotation: Rotation,
        generator: np.random.Generator,
        open_member: Callable[[str], Opened],
    ) -> None:
        self._paths = list(paths)
        self._rotation = rotation
        self._generator = generator
        self._open_member = open_member
        self._queue: deque[str] = deque()
        self._seats: list[_Seat] = []

    def drawn(self, draw: Callable[[Opened], D | None]) -> Iterator[D]:
        """Draw from the members in turn.

        `draw`: draws from one member; None where it has nothing to give, and is replaced.
        """
        self._queue.extend(self._order())
        turn = visit = 0
        try:
            self._fill()
            while self._seats:
                seat = self._seats[turn]
                found = draw(seat.member)
                if found is not None:
                    yield found
                    seat.given += 1
                    visit += 1
                if found is None or seat.given >= self._rotation.patches_per_slide:
                    self._seats.pop(turn).member.close()
                    self._fill()
                    turn, visit = turn % len(self._seats), 0
                elif visit >= self._rotation.patches_per_visit:
                    turn, visit = (turn + 1) % len(self._seats), 0
        finally:
            for seat in self._seats:
                seat.member.close()
            self._seats.clear()

    def _fill(self) -> None:
        """Open slides until the pool is full, or an order ends with as many as there are."""
        while len(self._seats) < self._rotation.pool_size:
            if not self._queue:
                if len(self._seats) >= len(set(self._paths)):
                    return
                self._queue.extend(self._order())
            self._seats.append(_Seat(self._open_member(self._queue.popleft())))

    def _order(self) -> list[str]:
        """All slides, in an order drawn anew."""
        return [self._paths[index] for index in self._generator.permutation(len(self._paths))]
