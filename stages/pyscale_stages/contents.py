"""What one file of images, or one array, holds, as each reader tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyscale_stages.layout import Layout

Pixels = npt.NDArray[Any]


@dataclass(frozen=True)
class Contents:
    """Images of one file or array, as it describes itself."""

    title: str
    """Its format in words."""
    files: tuple[Path, ...]
    axes: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    image: int = 0
    """Which of its images it is."""
    n_images: int = 1
    image_name: str = ""
    channel_names: tuple[str, ...] = ()
    missing: frozenset[int] = frozenset()
    """Places of images that it declares and does not hold."""
    level: str | None = None
    """Path of the resolution level, where there are several."""
    n_levels: int = 1


class Reader(Protocol):
    """A file or array that is open."""

    contents: Contents

    def read(
        self,
        layout: Layout,
        frames: Sequence[int],
        channels: Sequence[int],
        planes: Sequence[int],
    ) -> Pixels:
        """Read images of consecutive frames: axes T, C, Z and those of an image."""

    def close(self) -> None:
        """Close what is open."""
