"""What a build of images tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Layer = Literal["base", "libraries", "image"]


@dataclass(frozen=True)
class BuildEvent:
    """One thing that happened.

    Parameters
    ----------
    image : str
        Image that is wanted.
    layer : str
        Which part of it is in hand.
    kind : str
        `current`: it is there already; `waiting`: another process makes it; `started`; `said`: a
        line of what goes on; `finished`.
    detail : str
        The line.
    """

    image: str
    layer: Layer
    kind: Literal["current", "waiting", "started", "said", "finished"]
    detail: str = ""


Listener = Callable[[BuildEvent], None]
