"""The stages by name, imported only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from pyscale_stages.contract import Stage
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.task import Task
from pyscale_stages.wording import did_you_mean

STAGE_NAMES = (
    "register_denoise",
    "segment",
    "contact",
    "track",
    "storage",
    "decompress",
    "kernels",
    "loader",
    "reconstruct",
    "command",
)

_PACKAGE = Path(__file__).resolve().parent


def present_stages(package: Path = _PACKAGE) -> tuple[str, ...]:
    """Stages whose code is here: all in an installation, one in an image."""
    return tuple(name for name in STAGE_NAMES if (package / name / "stage.py").is_file())


def load_stage(name: str) -> Stage:
    """Import the folder of a stage and return its `STAGE`.

    An unknown name is a `BadInput`; a known one in the image of another stage is a `MissingPart`.
    """
    if name not in STAGE_NAMES:
        raise BadInput(f"unknown stage {name!r}: {did_you_mean(name, STAGE_NAMES)}")
    # One look: plans ask for their stages hundreds of times.
    if not (_PACKAGE / name / "stage.py").is_file():
        present = ", ".join(present_stages(_PACKAGE))
        raise MissingPart(
            f"the stage {name} is not in this image, which runs {present}: "
            "use the image of that stage"
        )
    stage: Stage = import_module(f"pyscale_stages.{name}.stage").STAGE
    return stage


def later(module: str, name: str) -> Callable[[Task], Any]:
    """A verb whose module is imported when it is done: plans ask for stages without libraries."""

    def verb(task: Task) -> Any:
        # What `merge` and `check` import is part of their own time.
        with task.span("import") if task.spec.verb == "run" else nullcontext():
            found = getattr(import_module(f"pyscale_stages.{module}"), name)
        return found(task)

    return verb
