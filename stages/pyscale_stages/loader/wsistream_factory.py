"""The data set of wsistream, as its own benchmark makes it; imported only where it is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset
from wsistream.backends import OpenSlideBackend, TiffSlideBackend
from wsistream.sampling import RandomSampler
from wsistream.tissue import OtsuTissueDetector
from wsistream.tissue.base import TissueDetector
from wsistream.torch import WsiStreamDataset

from pyscale_stages.loader.params import LoaderParams


@dataclass
class Everywhere(TissueDetector):  # type: ignore[misc]
    """Calls the whole slide tissue."""

    def detect(
        self, thumbnail: npt.NDArray[np.uint8], downsample: tuple[float, float] = (1.0, 1.0)
    ) -> npt.NDArray[np.bool_]:
        """Give a mask that is true throughout."""
        del downsample
        return np.ones(thumbnail.shape[:2], dtype=np.bool_)


def make_wsistream_dataset(
    slide_paths: list[str],
    pool_size: int,
    patches_per_slide: int,
    patches_per_visit: int,
    seed: int,
    *,
    params: LoaderParams,
) -> Dataset[Any]:
    """Make a data set that streams patches of tissue for ever."""
    dataset: Dataset[Any] = WsiStreamDataset(
        slide_paths=slide_paths,
        backend=TiffSlideBackend() if params.reader == "tiffslide" else OpenSlideBackend(),
        tissue_detector=OtsuTissueDetector() if params.tissue else Everywhere(),
        sampler=RandomSampler(patch_size=params.patch_px, target_mpp=params.mpp),
        pool_size=pool_size,
        patches_per_slide=patches_per_slide,
        patches_per_visit=patches_per_visit,
        cycle=True,
        seed=seed,
    )
    return dataset
