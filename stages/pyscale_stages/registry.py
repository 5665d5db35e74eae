"""The stages by name, imported only when asked for."""

from __future__ import annotations

from importlib import import_module

from pyscale_stages.contract import Stage
from pyscale_stages.errors import BadInput
from pyscale_stages.wording import did_you_mean

STAGE_NAMES = ("register_denoise", "segment", "contact", "track")


def load_stage(name: str) -> Stage:
    """Import the folder of a stage and return its `STAGE`.

    Raises
    ------
    BadInput
        If no stage has this name.
    """
    if name not in STAGE_NAMES:
        raise BadInput(f"there is no stage {name!r}: {did_you_mean(name, STAGE_NAMES)}")
    stage: Stage = import_module(f"pyscale_stages.{name}.stage").STAGE
    return stage
