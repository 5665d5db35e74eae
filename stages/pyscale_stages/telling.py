"""What a program of a user's own tells pyscale of itself: its phases, and numbers that it measures.

It needs nothing but Python, so that a copy of this file serves where pyscale is not installed.
Without pyscale around it, all of it does nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

TOLD_VARIABLE = "PYSCALE_SPANS"
"""Names the file that is told to: a JSON object a line."""


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Tell that the block is a phase: import, model_load, read, compute or write."""
    start_s = time.monotonic()
    try:
        yield
    finally:
        _tell(phase=name, start_s=start_s, end_s=time.monotonic())


def metric(name: str, value: float, **more: str) -> None:
    """Tell a number that the program measured; `unit`, `better` and `over` say more of it."""
    _tell(metric=name, value=value, **more)


def _tell(**told: object) -> None:
    path = os.environ.get(TOLD_VARIABLE)
    if path:
        # One write, so that lines of several processes do not mix.
        with open(path, "ab", buffering=0) as file:  # noqa: PTH123 - pathlib takes time to import
            file.write((json.dumps(told) + "\n").encode())
