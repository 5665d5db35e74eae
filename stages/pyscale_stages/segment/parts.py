"""Takes the time of one call of Cellpose apart, by hooks around functions of the installed one.

Times are exclusive: while a function runs inside another, the time is the inner one's. What the
call does outside of all of them belongs to no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pyscale_stages.errors import MissingPart
from pyscale_stages.timing import NestedTimes

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
    to, once it has returned.
    """

    part: str
    module: str
    function: str
    then: str | None = None

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
SIZE_HOOK = Hook("diameter", "cellpose.models", "SizeModel.eval")
"""The estimate of the diameter, which only Cellpose 3 has: it segments the frame once itself, and
all that happens inside belongs to it."""


@contextmanager
def timed_parts(hooks: tuple[Hook, ...], wait: Callable[[], None]) -> Iterator[NestedTimes]:
    """Time the parts of what the block calls; afterwards Cellpose is as it was."""
    told = {name for hook in hooks for name in (hook.part, hook.then)}
    times = NestedTimes((name for name in PARTS if name in told), wait)
    with ExitStack() as restoring:
        for hook in hooks:
            owner, name, original = _find(hook)
            setattr(owner, name, _timed(original, hook, times))
            restoring.callback(setattr, owner, name, original)
        yield times


def _timed(original: Callable[..., Any], hook: Hook, times: NestedTimes) -> Callable[..., Any]:
    @wraps(original)
    def timed(*arguments: Any, **options: Any) -> Any:
        # The estimate of the diameter calls what is hooked itself.
        if times.current == SIZE_HOOK.part:
            return original(*arguments, **options)
        with times.timed(hook.part):
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
