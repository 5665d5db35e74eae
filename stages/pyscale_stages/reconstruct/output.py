"""The image that ranks leave: written once, by the first, read back, joined and compared."""

from __future__ import annotations

import struct
from pathlib import Path
from shutil import copyfile

import numpy as np
import numpy.typing as npt

from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput, StageError, said_by
from pyscale_stages.moviewriter import CLASSIC_TIFF_BYTES
from pyscale_stages.reconstruct.stage import IMAGE, ReconstructParams
from pyscale_stages.reconstruct.tiles import interior_mask
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, ordered_ranks, read_window, same_bytes

AXES = {3: "CYX", 4: "CZYX"}
"""Of an image, by the number of its axes."""

Image = npt.NDArray[np.float32]
EDGE_PX = 8
"""Tiles are padded at the image's edge by its mirror image, and the network pads an uncut image
by zeros, of which random weights make another edge. In trials on 64 to 256 px it differed by 30
to 114 % of the largest value; from the eighth pixel on, images differed by less than 0.01 % in
the root mean square, after as many as four iterations."""
TOLERANCE = 0.99
"""One tile of up to ten thousand in the wrong place costs more, and so does a margin of nothing
(17 % in the same trials); tiles with a margin of 8 px cost a hundredth of it."""


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
            f"{path} is missing or damaged{said_by(error)}: run the reconstruction again"
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


def check(task: Task) -> Agreement:
    """Say how far two images are the same, away from the image's edge."""
    # The details tell the largest difference of pixels of which tiles hold all that the denoiser
    # looks at, and of all others.
    folders = folders_to_check(task)
    reference, other = (read_image(folder) for folder in folders)
    if reference.shape != other.shape:
        raise BadInput(
            f"{folders[0]} holds an image of {_told(reference)} px and {folders[1]} one of "
            f"{_told(other)} px: check two reconstructions of one problem"
        )
    params = ReconstructParams.model_validate(read_window(folders[1]).params)
    deviation = _relative_deviation(reference, other)
    return Agreement(
        same=1 - deviation >= TOLERANCE,
        identical=same_bytes(*folders, (IMAGE,)),
        score=max(0.0, 1 - deviation),
        measure=(
            "1 minus the root mean square difference of the images, relative to the first one's "
            f"values, over pixels {EDGE_PX} px or more from the image's edge"
        ),
        tolerance=TOLERANCE,
        details=_largest(reference, other, params),
    )


def _relative_deviation(reference: Image, other: Image) -> float:
    inner = (slice(None), *(slice(EDGE_PX, -EDGE_PX) for _ in reference.shape[1:]))
    # Sums of many squares of float32 would lose what is compared.
    difference = np.square(other[inner] - reference[inner], dtype=np.float64).sum()
    size = np.square(reference[inner], dtype=np.float64).sum()
    if not size:
        return float(difference > 0)
    return float(np.sqrt(difference / size))


def _largest(reference: Image, other: Image, params: ReconstructParams) -> dict[str, float]:
    """Largest differences of the two classes of pixels, as shares of the largest value."""
    largest = float(np.abs(reference).max())
    if not largest:
        return {}
    inside = interior_mask(other.shape, params)
    difference = np.abs(other - reference).max(axis=0) / largest
    classes = {"interior_deviation": inside, "border_deviation": ~inside}
    return {name: float(difference[mask].max()) for name, mask in classes.items() if mask.any()}


def _told(image: Image) -> str:
    return " x ".join(map(str, image.shape))
