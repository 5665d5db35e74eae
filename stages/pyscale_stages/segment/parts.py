"""Takes the time of one call of Cellpose apart, by hooks around functions of the installed one.

Times are exclusive: while a function runs inside another, the time is the inner one's. What the
call does outside of all of them belongs to no part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pyscale_stages.errors import MissingPart

PARTS = (
    "prepare",
    "to_device",
    "network",
    "from_device",
    "stitch",
    "flow_dynamics",
    "mask_making",
    "flow_check",
    "mask_cleaning",
    "flow_image",
    "diameter",
)
"""Names of the parts, in the order in which they are told."""


@dataclass(frozen=True)
class Hook:
    """A function of Cellpose whose time belongs to a part.

    `part`: one of `PARTS`. `module`, `function`: where Cellpose looks the function up when it calls
    it; a method as `Class.method`. `then`: the part that the rest of the function's caller belongs
    to, once it has returned. `whole`: whether all that happens inside belongs to it, also what is
    hooked itself.
    """

    part: str
    module: str
    function: str
    then: str | None = None
    whole: bool = False

    @property
    def where(self) -> str:
        """Its full name."""
        return f"{self.module}.{self.function}"


HOOKS = (
    Hook("prepare", "cellpose.transforms", "convert_image"),
    Hook("prepare", "cellpose.transforms", "normalize_img"),
    # Resizes and tiles until the first tiles go through the network, and then gathers, averages
    # and resizes what comes back.
    Hook("prepare", "cellpose.models", "CellposeModel._run_net"),
    Hook("network", "cellpose.core", "_forward", then="stitch"),
    Hook("to_device", "cellpose.core", "_to_device"),
    Hook("from_device", "cellpose.core", "_from_device"),
    # Finds the pixels of cells and follows them; what comes after that makes masks of them.
    Hook("flow_dynamics", "cellpose.dynamics", "compute_masks"),
    Hook("flow_dynamics", "cellpose.dynamics", "follow_flows", then="mask_making"),
    Hook("mask_making", "cellpose.dynamics", "get_masks_torch"),
    Hook("flow_check", "cellpose.dynamics", "remove_bad_flow_masks"),
    Hook("mask_cleaning", "cellpose.utils", "fill_holes_and_remove_small_masks"),
    Hook("flow_image", "cellpose.plot", "dx_to_circ"),
)
"""What both supported versions have by the same names.

The transfers are those of the network's input and output. On a GPU the dynamics, the masks and
the check of flows bring their own arrays there and back, which is part of what they take.
"""
SIZE_HOOK = Hook("diameter", "cellpose.models", "SizeModel.eval", whole=True)
"""The estimate of the diameter, which only Cellpose 3 has: it segments the frame once itself."""


class PartTimes:
    """Seconds by part: each moment counts once, for the innermost part that is open."""

    def __init__(self, names: tuple[str, ...], wait: Callable[[], None]) -> None:
        self.seconds = dict.fromkeys(names, 0.0)
        self._wait = wait
        self._open: list[str] = []
        self._since = 0.0
        self._whole = False

    @contextmanager
    def part(self, name: str, *, whole: bool = False) -> Iterator[None]:
        """Count the block as time of a part; with `whole`, also what is a part inside of it."""
        if self._whole:
            yield
            return
        self._edge()
        self._open.append(name)
        self._whole = whole
        try:
            yield
        finally:
            self._edge()
            self._open.pop()
            self._whole = False

    def go_on_as(self, name: str) -> None:
        """Count the rest of the innermost open part as time of another."""
        if self._open and not self._whole:
            self._edge()
            self._open[-1] = name

    def _edge(self) -> None:
        self._wait()
        now = time.monotonic()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


@contextmanager
def timed_parts(hooks: tuple[Hook, ...], wait: Callable[[], None]) -> Iterator[PartTimes]:
    """Time the parts of what the block calls; afterwards Cellpose is as it was."""
    told = {name for hook in hooks for name in (hook.part, hook.then)}
    times = PartTimes(tuple(name for name in PARTS if name in told), wait)
    with ExitStack() as restoring:
        for hook in hooks:
            owner, name, original = _find(hook)
            setattr(owner, name, _timed(original, hook, times))
            restoring.callback(setattr, owner, name, original)
        yield times


def _timed(original: Callable[..., Any], hook: Hook, times: PartTimes) -> Callable[..., Any]:
    @wraps(original)
    def timed(*arguments: Any, **options: Any) -> Any:
        with times.part(hook.part, whole=hook.whole):
            answer = original(*arguments, **options)
        if hook.then is not None:
            times.go_on_as(hook.then)
        return answer

    return timed


def _find(hook: Hook) -> tuple[Any, str, Callable[..., Any]]:
    *owners, name = hook.function.split(".")
    owner: Any = import_module(hook.module)
    try:
        for part in owners:
            owner = getattr(owner, part)
        return owner, name, getattr(owner, name)
    except AttributeError as error:
        raise MissingPart(
            f"Cellpose {version('cellpose')} lacks {hook.where}, which times the part "
            f"{hook.part} of a call: install the version that pyscale names"
        ) from error
