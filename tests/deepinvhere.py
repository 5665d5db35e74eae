"""What tests take from DeepInverse, whose import needs torchvision to be importable first."""

from pyscale_stages.torchdevice import make_torchvision_importable

make_torchvision_importable()

from deepinv.distributed.strategies import create_strategy  # noqa: E402
from deepinv.models import DRUNet  # noqa: E402

__all__ = ["DRUNet", "create_strategy"]
