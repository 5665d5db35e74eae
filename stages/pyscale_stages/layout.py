"""What a file of images or an array holds, its axes, and the place of each frame and channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput

BY_AXES = "by --axes, as in --axes TYX"
MOST_CHANNELS = 8
"""Of one frame, unless somebody says that they are: ImageJ files without axes call frames so."""
UNNAMED_AXES = "QI"
"""Axes that a writer left unnamed: tifffile's words for "other" and "image sequence"."""
OF_IMAGES = "TCZ"
"""Axes along which images follow one another, in any order."""


class WrongAxes(BadInput):
    """A file of images whose axes are not those of frames."""

    def __init__(self, what: str, shape: tuple[int, ...], remedy: str, *, colours: bool) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.shape = shape
        self.colours = colours
        """Whether its planes are the colours of one picture."""


@dataclass(frozen=True)
class Layout:
    """How the images of a file or array are ordered."""

    axes: str
    sizes: tuple[int, ...]
    """Length of each axis; images have Y and X, and S where a pixel has colours."""

    def size(self, axis: str) -> int:
        """Length of an axis, 1 where there is none."""
        return dict(zip(self.axes, self.sizes, strict=True)).get(axis, 1)

    @property
    def has_samples(self) -> bool:
        """Whether channels are colours of a pixel, so that all are read together."""
        return "S" in self.axes

    @property
    def n_channels(self) -> int:
        """Channels of a frame."""
        return self.size("S" if self.has_samples else "C")

    @property
    def leading(self) -> str:
        """Axes of the images' order."""
        return "".join(axis for axis in self.axes if axis in OF_IMAGES)

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Shape of one image: Y and X, and S where there are colours."""
        return self.sizes[len(self.leading) :]

    def images(
        self, frames: Sequence[int], channels: Sequence[int], planes: Sequence[int]
    ) -> list[int]:
        """Places of images in the file's own order, frames slowest and planes fastest."""
        at = {"T": frames, "C": channels, "Z": planes}
        sizes = [self.size(axis) for axis in self.leading]
        strides = {
            axis: int(np.prod(sizes[place + 1 :], dtype=int))
            for place, axis in enumerate(self.leading)
        }
        steps = [[number * strides.get(axis, 0) for number in at[axis]] for axis in OF_IMAGES]
        return [sum(places) for places in product(*steps)]


def layout_of(
    path: object, file_axes: str, shape: tuple[int, ...], believed_axes: str | None
) -> Layout:
    """What axes and shape say of a movie; `believed_axes` count in place of the file's own."""
    axes = (believed_axes or file_axes).upper()
    if believed_axes and len(axes) != len(shape):
        raise BadInput(
            f"--axes {believed_axes} names {len(axes)} axes, "
            f"but {path} has {len(shape)} ({file_axes}, shape {shape})"
        )
    # A stack whose writer named no axis is a movie: nothing else is left for it to be.
    if axes[0] in UNNAMED_AXES and axes[1:] in {"YX", "CYX", "YXS", "SYX"}:
        axes = "T" + axes[1:]
    # Colours that are planes of their own lie in the file as channels do.
    axes = "TCYX" if axes == "TSYX" else axes
    if axes == "SYX":
        what = f"{path} holds a picture of {shape[0]} colours, as tifffile saves 3 or 4 frames"
        raise WrongAxes(what, shape, "if they are frames, give --axes TYX", colours=True)
    images, colours = axes.removesuffix("S"), axes.endswith("S")
    leading = images.removesuffix("YX")
    if (
        not images.endswith("YX")
        or len({*leading}) < len(leading)
        or not {*leading} <= {*OF_IMAGES}
        or (colours and "C" in leading)
    ):
        what = f"{path} has the axes {axes} (shape {shape}), but frames need T, C, Z, Y and X"
        raise WrongAxes(what, shape, f"convert it, or give the right axes {BY_AXES}", colours=False)
    if axes == "CYX" and shape[0] > MOST_CHANNELS and believed_axes is None:
        what = f"{path} states one frame of {shape[0]} channels"
        remedy = "if they are frames, give --axes TYX; if channels, --axes CYX"
        raise WrongAxes(what, shape, remedy, colours=False)
    if min(shape) < 1:
        raise BadInput(f"{path} holds no pixels (axes {axes}, shape {shape}): write it again")
    return Layout(axes, shape)


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
