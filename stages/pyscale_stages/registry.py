"""The stages by name, imported only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from pyscale_stages.contract import Slot, Stage
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

OTHERS = "pyscale.stages"
"""Entry points of packages that have stages of their own, by the names of these."""

_PACKAGE = Path(__file__).resolve().parent


def present_stages(package: Path = _PACKAGE) -> tuple[str, ...]:
    """Stages whose code is here: all in an installation, one in an image."""
    return tuple(name for name in STAGE_NAMES if (package / name / "stage.py").is_file())


@cache
def others_stages() -> dict[str, EntryPoint]:
    """Stages of other packages that are installed, by name."""
    return {point.name: point for point in entry_points(group=OTHERS)}


def stage_names() -> tuple[str, ...]:
    """Names of all stages, those of other packages too."""
    return (*STAGE_NAMES, *others_stages())


def load_stage(name: str) -> Stage:
    """Import the folder of a stage and return its `STAGE`."""
    # An unknown name is a `BadInput`; a known one in the image of another stage, or one that its
    # package does not give, is a `MissingPart`.
    if name not in STAGE_NAMES:
        return _of_another(name)
    # One look: plans ask for their stages hundreds of times.
    if not (_PACKAGE / name / "stage.py").is_file():
        present = ", ".join(present_stages(_PACKAGE))
        raise MissingPart(
            f"the stage {name} is not in this image, which runs {present}: "
            "use the image of that stage"
        )
    stage: Stage = import_module(f"pyscale_stages.{name}.stage").STAGE
    return stage


def _of_another(name: str) -> Stage:
    point = others_stages().get(name)
    if point is None:
        raise BadInput(f"unknown stage {name!r}: {did_you_mean(name, stage_names())}")
    whose = f"the stage {name} of the package {point.dist.name if point.dist else point.value}"
    try:
        stage = point.load()
    except Exception as error:
        raise MissingPart(f"{whose} cannot be loaded ({error!r}): repair that package") from error
    if not isinstance(stage, Stage) or stage.name != name:
        raise MissingPart(f"{whose} is no stage of that name: see {point.value} there")
    return stage


def place(of_what: str) -> Slot:
    """The slot of a folder to measure, which a stage of the machine may be given."""
    text = f"folder {of_what} (default: the output folder)"
    return Slot("place", text, required=False, is_place=True)


def later(module: str, name: str) -> Callable[[Task], Any]:
    """A verb whose module is imported when it is done: plans ask for stages without libraries."""

    def verb(task: Task) -> Any:
        # What `merge` and `check` import is part of their own time.
        with task.span("import") if task.spec.verb == "run" else nullcontext():
            found = getattr(import_module(f"pyscale_stages.{module}"), name)
        return found(task)

    return verb
