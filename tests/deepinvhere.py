"""What tests take from DeepInverse, whose import needs torchvision to be importable first."""

from __future__ import annotations

from pyscale_stages.torchvision_cpu import make_importable

make_importable()

from deepinv.distributed.strategies import create_strategy  # noqa: E402
from deepinv.models import DRUNet  # noqa: E402

__all__ = ["DRUNet", "create_strategy"]
