"""Compares two reconstructed images, where tiles change some pixels and must not change others."""

from __future__ import annotations

import numpy as np

from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.reconstruct.output import Image, read_image
from pyscale_stages.reconstruct.params import IMAGE, ReconstructParams
from pyscale_stages.reconstruct.tiles import interior_mask
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, read_window, same_bytes

EDGE_PX = 8
"""Tiles are padded at the image's edge by its mirror image, and the network pads an uncut image
by zeros, of which random weights make another edge. In trials on 64 to 256 px it differed by 30
to 114 % of the largest value; from the eighth pixel on, images differed by less than 0.01 % in
the root mean square, after as many as four iterations."""
TOLERANCE = 0.99
"""One tile of up to ten thousand in the wrong place costs more, and so does a margin of nothing
(17 % in the same trials); tiles with a margin of 8 px cost a hundredth of it."""


def check(task: Task) -> Agreement:
    """Say how far two images are the same, away from the image's edge.

    The images need not be of equally many ranks. The details tell the largest difference, as a
    share of the largest value, of the pixels of which tiles of the second output hold all that the
    denoiser looks at, and of all others; a class without pixels is left out.
    """
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
