"""Times the components of an iteration so that no moment counts twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyscale_stages.reconstruction import COMPONENTS, Component


class Components:
    """The clock of one rank's iterations.

    A component that begins inside another pauses it, at one reading of the clock that ends the
    one and begins the other, so that nothing falls between them. A GPU is given work and answers
    at once: it is waited for before each reading.

    `wait`: returns when the device has done all that it was given.
    """

    def __init__(self, wait: Callable[[], None]) -> None:
        self.wait = wait
        self.seconds: dict[Component, float] = {}
        """What each component of the last iteration took."""
        self.wall_s = 0.0
        """What all of the last iteration took, by readings of its own."""
        self._open: list[Component] = []
        self._since = 0.0

    @property
    def current(self) -> Component | None:
        """The component that is being timed; None between them."""
        return self._open[-1] if self._open else None

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Forget what was timed, and time a block as an iteration."""
        self.seconds = dict.fromkeys(COMPONENTS, 0.0)
        self.wait()
        begun = time.perf_counter()
        yield
        self.wait()
        self.wall_s = time.perf_counter() - begun

    def timed(self, component: Component) -> _Timed:
        """Add a block to a component, without what is timed as another one in it."""
        return _Timed(self, component)

    def enter(self, component: Component) -> None:
        """Begin a component; `timed` also ends it."""
        self._turn()
        self._open.append(component)

    def leave(self) -> None:
        """End the component that began last."""
        self._turn()
        self._open.pop()

    def _turn(self) -> None:
        """Give the innermost open component what has passed since the last reading."""
        self.wait()
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


class _Timed:
    """A block of a component, which costs less itself than one made of a generator."""

    def __init__(self, components: Components, component: Component) -> None:
        self._components = components
        self._component = component

    def __enter__(self) -> None:
        self._components.enter(self._component)

    def __exit__(self, *_error: object) -> None:
        self._components.leave()
