"""Linear transforms of frames: one convention, one row a frame, and where points go.

Convention
----------
Transforms *pull*: the corrected frame shows at the point p what the input frame shows at

    M (p - c) + c + t,      p = (y, x) in pixels,  c = ((height - 1) / 2, (width - 1) / 2)

so for a specimen that only drifts, M is the identity and t is its position in this frame
minus its position in the reference frame. Where frames are registered to the one before, a
window that is not the whole movie holds such steps, which `merge` adds up. Where a frame has a
deformation u as well (SyN), the input is shown at M (p + u(p) - c) + c + t.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.errors import BadInput
from pyscale_stages.measured import Warned
from pyscale_stages.parquet import read_table
from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

TRANSFORMS_FILE = "transforms.parquet"

Status = Literal["registered", "handed_over", "reference", "constant", "doubtful", "not_registered"]
"""Why a frame has its transform; all but the first two stand for the identity.

"handed_over" is a frame that ANTs registered since the FFT was not sure of its shift,
"reference" is the reference frame itself, "constant" a frame of one value everywhere, which
cannot be registered to anything, "doubtful" one whose transform was hardly drift (see
`doubts`), "not_registered" any frame where registration was off.
"""

Points = npt.NDArray[np.float64]
MIN_CORRELATION = 0.5
"""Below it, less than a quarter of the reference's contrast is found again in a frame.

On synthetic movies of cells that wander, drift errors grow from tenths of a pixel at 0.9 to
pixels at 0.5, and to tens of pixels below.
"""
HANDED_OVER = (
    "were registered by ANTs: a shift found by FFT does not explain them; where the specimen turns "
    "or is stretched, set backend to ants and transform to Rigid or Affine"
)
MAX_AREA_CHANGE = 2.0
"""One specimen hardly shows at twice or half its size."""
BACKGROUND_PERCENTILE = 1
"""Of a frame's values. The edge's values in place of it would draw cells out into streaks."""


@dataclass(frozen=True)
class LinearTransform:
    """A linear transform about the image centre, in the module's convention."""

    m00: float = 1.0
    m01: float = 0.0
    m10: float = 0.0
    m11: float = 1.0
    ty_px: float = 0.0
    tx_px: float = 0.0

    @classmethod
    def about_image_centre(
        cls, parameters: npt.ArrayLike, centre_px: npt.ArrayLike, shape_yx: tuple[int, int]
    ) -> LinearTransform:
        """Move a transform about any centre to the centre of the image.

        `parameters`: shape (6,); ITK's order: the matrix row by row, then the translation, in (y,
        x). `centre_px`: shape (2,); centre b of that transform: it maps p to M (p - b) + b + s.
        """
        values = np.asarray(parameters, float)
        matrix = values[:4].reshape(2, 2)
        offset = np.asarray(centre_px, float) - image_centre(shape_yx)
        shift = values[4:] + offset - matrix @ offset
        return cls(*(float(value) for value in (*matrix.ravel(), *shift)))

    def after(self, first: LinearTransform) -> LinearTransform:
        """Map a point by `first`, then by this transform."""
        matrix, shift = self._matrix_and_shift()
        first_matrix, first_shift = first._matrix_and_shift()
        values = (*(matrix @ first_matrix).ravel(), *(matrix @ first_shift + shift))
        return LinearTransform(*(float(value) for value in values))

    def _matrix_and_shift(self) -> tuple[Points, Points]:
        matrix = np.array([[self.m00, self.m01], [self.m10, self.m11]])
        return matrix, np.array([self.ty_px, self.tx_px])

    @property
    def determinant(self) -> float:
        """Area of the input that one pixel of the output shows, in pixels."""
        return self.m00 * self.m11 - self.m01 * self.m10


@dataclass(frozen=True)
class Correction:
    """The transform that was found for one frame.

    `files`: as ANTs wrote it, in the order that its `move` needs; none from the FFT. The warp's
    lengths are 0 without a deformation. Correlations with the reference, of the moved frame and
    where it was, are None where nothing was registered.
    """

    linear: LinearTransform
    files: tuple[str, ...] = ()
    warp_max_px: float = 0.0
    warp_mean_px: float = 0.0
    correlation: float | None = None
    correlation_unmoved: float | None = None


def background(image: FloatImage) -> float:
    """What fills the part of a channel that the camera did not see."""
    return float(np.percentile(image, BACKGROUND_PERCENTILE))


def correlation(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Pearson correlation of two images; 0 without contrast."""
    a, b = first - first.mean(), second - second.mean()
    # By sums of NumPy's own: a BLAS adds in an order that depends on the processor it is told of.
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else 0.0


def image_centre(shape_yx: tuple[int, ...]) -> Points:
    """Centre of an image as (y, x), with pixel centres at whole numbers."""
    return (np.asarray(shape_yx, float) - 1) / 2


def centre_and_corners(shape_yx: tuple[int, int]) -> Points:
    """The image's centre and its four corners relative to the centre, shape (5, 2)."""
    y, x = image_centre(shape_yx)
    return np.array([(0, 0), (-y, -x), (-y, x), (y, -x), (y, x)])


def mapped(table: pl.DataFrame, points: Points) -> Points:
    """Where each frame's transform reads the input for points from its centre: (F, P, 2)."""
    matrices = table.select("m00", "m01", "m10", "m11").to_numpy().reshape(-1, 2, 2)
    shifts = table.select("ty_px", "tx_px").to_numpy()
    return np.asarray(np.einsum("fij,pj->fpi", matrices, points) + shifts[:, None])


def table_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Table of transforms, one row a frame."""
    linear = (field.name for field in fields(LinearTransform))
    numbers = (*linear, "warp_max_px", "warp_mean_px", "correlation")
    schema = {"frame": pl.Int32, "status": pl.String} | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def read_transforms(folder: Path, frames: tuple[int, int]) -> pl.DataFrame:
    """Read the transforms in an output folder, sorted by frame."""
    path, schema = folder / TRANSFORMS_FILE, table_of([]).schema
    table = read_table(path, schema).select(*schema).cast(schema).sort("frame")
    if table["frame"].to_list() != list(range(*frames)):
        raise BadInput(
            f"{path} does not hold one transform for each of the frames {frames[0]}:{frames[1]} "
            "that its window names: run the stage on that window again"
        )
    return table


def is_doubtful(found: Correction, shape_yx: tuple[int, int]) -> bool:
    """Whether a transform is hardly drift, so that a frame is better left where it is."""
    height, width = shape_yx
    linear = found.linear
    area = linear.determinant
    # A frame that was more like the reference before it was moved was moved wrongly.
    unlike = found.correlation is not None and (
        found.correlation < max(MIN_CORRELATION, found.correlation_unmoved or 0.0)
    )
    too_far = abs(linear.ty_px) > height / 2 or abs(linear.tx_px) > width / 2
    return unlike or too_far or not 1 / MAX_AREA_CHANGE <= area <= MAX_AREA_CHANGE


def doubts(
    transforms: pl.DataFrame, params: RegisterDenoiseParams, *, has_ants: bool
) -> list[Warned]:
    """Count the frames that were not registered as it was asked for, by reason, also none."""
    left = "were moved like the frame before them" if params.adds_up else "were not moved"
    constant = f"they, or what they were registered to, have one value in channel {params.channel}"
    doubtful = (
        "registration found an implausible drift; where cells wander, register by a channel of "
        "what stays in place; where the specimen changes over the movie, set reference to previous "
        "or choose a reference_frame nearer to the frames"
    )
    if params.backend == "fft" and not has_ants:
        doubtful += "; antspyx, which would register them, is not installed"
    reasons = {
        "constant": ("constant-frames", f"{left}: {constant}"),
        "doubtful": ("unregistered-frames", f"{left}: {doubtful}"),
    }
    if params.backend == "fft":
        reasons["handed_over"] = ("handed-over-frames", HANDED_OVER)
    return [
        Warned(
            code=code,
            text=reason,
            concerned=transforms["status"].eq(status).sum(),
            seen=len(transforms),
            # A frame of one value has nothing that could have moved.
            doubts_result=status == "doubtful",
        )
        for status, (code, reason) in reasons.items()
    ]
