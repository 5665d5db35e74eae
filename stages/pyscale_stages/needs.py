"""What a stage needs of a machine beside its inputs, and how to see whether it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def _no_more(trying: Trying) -> None:
    trying.cuda_architecture()
    trying.ok("works", "its libraries can be imported, and it tells of no other part")


@dataclass(frozen=True)
class Needs:
    """Parts that a stage needs beside the libraries that it always imports."""

    of_choice: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = field(default_factory=dict)
    """Modules in place of the stage's own, and the extra that has them, where a parameter has a
    value that needs others."""
    deciding: tuple[str, ...] = ()
    """Parameters that decide, with the device, which parts are needed."""
    look: Callable[[Any, Any, bool], None] = lambda _params, _device, _here: None
    """Raises `StageError` where a part is absent, without importing a library: of given
    parameters and device, and whether tasks run here; elsewhere only files that all nodes see
    can be looked for."""
    try_out: Callable[[Trying], None] = _no_more
    """Does a little work in the interpreter of a task, and tells what it finds."""
