"""Makes torchvision importable beside a CPU build of torch.

The wheels of torchvision on the package index are built for CUDA. Their compiled operators do
not load beside a CPU torch, and then the import fails, because it describes operators that were
never declared. Cellpose 4 and DeepInverse need none of them: declaring them is enough.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_declared: list[Any] = []
"""Declarations live as long as their object does."""


def make_importable() -> None:
    """Import torchvision, with its operators declared where its own could not be loaded."""
    import torch

    try:
        import_module("torchvision")
    except RuntimeError as error:
        if torch.version.cuda is not None or "torchvision::" not in str(error):
            raise
    else:
        return
    library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in OPERATORS:
        library.define(operator + SIGNATURE)
    _declared.append(library)
    # What the failed import left behind would be taken for the module.
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    import_module("torchvision")
