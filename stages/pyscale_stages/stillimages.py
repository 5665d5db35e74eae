"""PNG and JPEG files as images, one each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.layout import Contents, Layout, Pixels


class StillImage:
    """A picture, decoded when its size is asked for, as its header tells too little."""

    def __init__(self, path: Path) -> None:
        self._pixels = decoded(path)
        colours = self._pixels.ndim == 3
        self.contents = Contents(
            title="PNG" if path.suffix.lower() == ".png" else "JPEG",
            files=(path,),
            axes="YXS" if colours else "YX",
            shape=self._pixels.shape,
            dtype=self._pixels.dtype,
        )

    def read(
        self,
        layout: Layout,
        frames: Sequence[int],
        channels: Sequence[int],
        planes: Sequence[int],
    ) -> Pixels:
        """Read the image: axes T, C, Z and its own."""
        return self._pixels.reshape(len(frames), len(channels), len(planes), *layout.image_shape)

    def close(self) -> None:
        """Nothing is open."""


def decoded(path: Path) -> Pixels:
    """Pixels of a PNG or JPEG file: Y and X, and colours where it has any."""
    import imagecodecs

    decode = imagecodecs.png_decode if path.suffix.lower() == ".png" else imagecodecs.jpeg8_decode
    try:
        return np.asarray(decode(path.read_bytes()))
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"{path} is not a readable {path.suffix[1:].upper()} image: it is damaged; copy it "
            "again"
        ) from error
