"""The image that a reconstruction leaves: written once, by the first rank, and read back."""

from __future__ import annotations

import struct
from pathlib import Path
from shutil import copyfile

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.moviewriter import CLASSIC_TIFF_BYTES
from pyscale_stages.reconstruct.params import IMAGE
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_ranks

AXES = {3: "CYX", 4: "CZYX"}
"""Of an image, by the number of its axes."""

Image = npt.NDArray[np.float32]


def write_image(task: Task, image: Image) -> None:
    """Write the reconstructed image, (C, Y, X) or (C, Z, Y, X), uncompressed."""
    if not np.isfinite(image).all():
        raise StageError(
            "the reconstruction has NaN or infinite values, because its iterations diverge with "
            "this denoiser: use other weights, or fewer iterations"
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
    """Read the reconstructed image of an output folder, of shape (C, Y, X) or (C, Z, Y, X)."""
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
                    f"{path} is not an image that this stage wrote: name the output folder of a "
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


def merge(task: Task) -> None:
    """Copy the image of the first rank, where all ranks of one trial are given."""
    first, window = ordered_ranks(task)[0]
    # One that was cut short must not go on as if it were whole.
    read_image(first)
    with task.writing(IMAGE) as path:
        copyfile(first / IMAGE, path)
    task.write_whole(window)
    task.count(frames=1)
