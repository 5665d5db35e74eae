"""The image that a reconstruction leaves: written once, by the first rank, and read back."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, StageError

if TYPE_CHECKING:
    from pyscale_stages.task import Task

IMAGE = "reconstruction.tif"
AXES = {3: "CYX", 4: "CZYX"}
"""Of an image, by the number of its axes."""
CLASSIC_TIFF_BYTES = 2**32 - 2**25
"""What a TIFF with 32-bit offsets can hold, less room for its pages' headers."""

Image = npt.NDArray[np.float32]


def write_image(task: Task, image: Image) -> None:
    """Write the reconstructed image into the task's output, uncompressed.

    Parameters
    ----------
    task : Task
    image : ndarray
        float32, channels and lengths in pixels: (C, Y, X) or (C, Z, Y, X).

    Raises
    ------
    StageError
        If it has values that are NaN or infinite: times of such a computation mean nothing.
    """
    if not np.isfinite(image).all():
        raise StageError(
            "the reconstruction has values that are NaN or infinite, because its iterations "
            "diverge with this denoiser: give other weights, or fewer iterations"
        )
    import tifffile

    with task.writing(IMAGE) as path:
        tifffile.imwrite(
            path,
            np.ascontiguousarray(image, np.float32),
            bigtiff=image.size * 4 > CLASSIC_TIFF_BYTES,
            photometric="minisblack",
            metadata={"axes": AXES[image.ndim]},
        )


def read_image(folder: Path) -> Image:
    """Read the reconstructed image of an output folder.

    Returns
    -------
    ndarray
        float32, shape (C, Y, X) or (C, Z, Y, X).

    Raises
    ------
    BadInput
        If it is missing, damaged, cut short, or no such image.
    """
    import tifffile

    path = folder / IMAGE
    try:
        with tifffile.TiffFile(path) as tiff:
            series = tiff.series[0]
            if (
                series.dataoffset is None
                or series.dtype != np.float32
                or series.axes not in AXES.values()
            ):
                raise BadInput(
                    f"{path} is no image that this stage wrote: give the output folder of a "
                    "reconstruction"
                )
            end, size = series.dataoffset + series.nbytes, path.stat().st_size
            if end > size:
                raise ValueError(f"it ends at byte {size}, its pixels at byte {end}")
            # One thread: the stage's thread count is a measured parameter.
            image: Image = series.asarray(maxworkers=1)
    except (OSError, ValueError, IndexError, KeyError, struct.error) as error:
        raise BadInput(
            f"{path} is missing or damaged ({error}): run the reconstruction again"
        ) from error
    return image
