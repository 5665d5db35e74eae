"""A handle that each process opens for itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Handle = TypeVar("Handle")


class PerProcess(Generic[Handle]):
    """Open a handle when it is first needed, and once more in every process that inherits this.

    A handle of a C library is no use after pickling, and after a fork two processes would move
    one file's position under each other's feet.

    Parameters
    ----------
    opener : callable
        Opens the handle; must be picklable.
    closer : callable, optional
        Closes it; must be picklable. Without one it closes when nothing refers to it any more.
    """

    def __init__(
        self, opener: Callable[[], Handle], closer: Callable[[Handle], None] | None = None
    ) -> None:
        self._opener = opener
        self._closer = closer
        self._handle: Handle | None = None
        self._process = 0

    def get(self) -> Handle:
        """Give the handle of this process."""
        if self._handle is None or self._process != os.getpid():
            self._handle, self._process = self._opener(), os.getpid()
        return self._handle

    def close(self) -> None:
        """Close the handle of this process, if it has one."""
        if self._closer and self._handle is not None and self._process == os.getpid():
            self._closer(self._handle)
        self._handle = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handle": None}
