"""Refuses frames that cannot fit into memory, before anything is read or loaded."""

from __future__ import annotations

from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.measure.cgroups import usable_bytes
from pyscale_stages.movie import Movie
from pyscale_stages.segment.models import CELLPOSE_OF_MODEL
from pyscale_stages.segment.params import SegmentParams

FLOAT_BYTES = 4
GIB = 2**30
FLOATS_OF_DYNAMICS = 9
"""Numbers for each pixel that both versions of Cellpose hold when the flow dynamics begin.

The image, normalised, has two channels or more (2), the network's answer is two flows and the
cell's logit (3), the flows are cleared outside of cells (2), and a fifth of that is taken (2). All
are single precision and of the frame's own size, whatever it was resized to for the network.
"""
FLOATS_OF_TILES = 20
"""The same when the network's answers for tiles are put together, of a frame that is not shrunk.

The image (2) and a padded copy (2); tiles that overlap by a tenth on either side are 1.2 times as
many along each axis, so their pixels, held twice (2 * 2 * 1.44), and the answers for them
(3 * 1.44); their average (3), and a copy of that for all images of the call (3).
"""


def least_bytes(shape_yx: tuple[int, int], movie: Movie, params: SegmentParams) -> int:
    """Least memory that segmenting one frame takes, beside libraries and network.

    `shape_yx`: height and width in pixels of what is segmented. `movie`: where it is read from: a
    whole frame of it is in memory, too.
    """
    as_large = (
        params.model in CELLPOSE_OF_MODEL
        and params.diameter_px is None
        and not params.estimate_diameter
    )
    floats = FLOATS_OF_TILES if as_large else FLOATS_OF_DYNAMICS
    frame = movie.shape_yx[0] * movie.shape_yx[1] * movie.dtype.itemsize
    return frame + shape_yx[0] * shape_yx[1] * floats * FLOAT_BYTES


def refuse_beyond_memory(shape_yx: tuple[int, int], movie: Movie, params: SegmentParams) -> None:
    """Refuse a frame for which this process may not have the memory."""
    least, usable = least_bytes(shape_yx, movie, params), usable_bytes()
    if least > usable:
        height, width = shape_yx
        raise ResourceExhausted(
            f"segmenting {width} x {height} pixels of {movie.path.name} takes at least "
            f"{least / GIB:.1f} GiB of memory, but this task can have {usable / GIB:.1f} GiB: "
            "give it more, or segment only the middle of each frame (the parameter length_px)"
        )
