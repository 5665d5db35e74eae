"""Registration by a translation alone: the peak of an FFT cross-correlation, then least squares."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.transforms import (
    MIN_CORRELATION,
    Correction,
    LinearTransform,
    background,
    correlation,
)
from pyscale_stages.validarea import Mask

BLUR_PX = 1.5
"""Standard deviation of the blur before anything is compared: noise has no place."""
TAPERED_SHARE = 1 / 8
"""Of each side, at both ends: without it, the edges of a frame would match themselves."""
FARTHEST_SHARE = 3 / 4
"""Of each side: less overlap than the rest tells nothing."""
MARGIN_PX = 5
"""The fit leaves it out, so that it compares the same pixels however it moves in it."""
INNER = (slice(MARGIN_PX, -MARGIN_PX),) * 2
MIN_SIDE_PX = 8
"""Of what is left to the fit."""
MAX_STEPS = 20
PRECISION_PX = 1e-3
MAX_SPREAD_PX = 2.0
"""Between shifts of quadrants. Frames of 512 px that turn by 0.3 degrees have as much; those of
cells that wander by a pixel a frame have 1.2 after five frames."""

Shift = npt.NDArray[np.float64]
Part = tuple[slice, slice]


@dataclass(frozen=True)
class Found:
    """Where a frame shows the reference, (dy, dx), and the correlation of what both show."""

    shift: Shift
    correlation: float

    @property
    def is_sure(self) -> bool:
        """Whether both show the same; so asked, what is not a number is not sure."""
        return self.correlation >= MIN_CORRELATION


def import_libraries() -> None:
    """Import what registering and moving call, so that importing is not taken for computing."""
    import scipy.fft
    import scipy.ndimage  # noqa: F401


def register(reference: FloatImage, frame: FloatImage) -> Correction | None:
    """Find the shift of a frame; None where a translation does not explain it.

    Two things tell: the correlation of what both show, which for a wrong shift is low, or lower
    than without any; and the shifts of the four quadrants, which differ where the specimen turns
    or is stretched.
    """
    from scipy.ndimage import gaussian_filter

    fixed, moving = (gaussian_filter(image, BLUR_PX) for image in (reference, frame))
    found = _found(fixed, moving)
    unmoved = correlation(fixed[INNER], moving[INNER])
    if not found.is_sure or found.correlation < unmoved:
        return None
    if _spread_px(fixed, moving, found.shift) > MAX_SPREAD_PX:
        return None
    return Correction(
        linear=LinearTransform(ty_px=float(found.shift[0]), tx_px=float(found.shift[1])),
        correlation=found.correlation,
        correlation_unmoved=unmoved,
    )


def move(images: list[FloatImage], linear: LinearTransform) -> tuple[list[FloatImage], Mask]:
    """Do what `ants_calls.move` does, by the shift of a transform: linear between pixels."""
    from scipy.ndimage import shift

    # A pixel reaches half a pixel beyond its centre.
    rows, columns = (
        (np.arange(side) + by >= -0.5) & (np.arange(side) + by <= side - 0.5)
        for side, by in zip(images[0].shape, (linear.ty_px, linear.tx_px), strict=True)
    )
    seen: Mask = rows[:, None] & columns
    moved = []
    for image in images:
        pulled = shift(image, (-linear.ty_px, -linear.tx_px), order=1, mode="nearest")
        pulled[~seen] = background(image)
        moved.append(pulled)
    return moved, seen


def _found(fixed: FloatImage, moving: FloatImage) -> Found:
    """The shift of two blurred images."""
    here, there = _common(fixed.shape, whole := _peak(fixed, moving))
    found = _refined(fixed[here], moving[there])
    return Found(whole + found.shift, found.correlation)


def _found_near(fixed: FloatImage, moving: FloatImage) -> Found:
    """The same of a small shift, which mostly needs no FFT."""
    near = _refined(fixed, moving)
    return near if near.is_sure else _found(fixed, moving)


def _spread_px(fixed: FloatImage, moving: FloatImage, shift: Shift) -> float:
    """Largest distance between the shifts of those quadrants that are sure of theirs."""
    here, there = _common(fixed.shape, np.rint(shift).astype(int))
    fixed, moving = fixed[here], moving[there]
    halves = [(slice(0, side // 2), slice(side // 2, None)) for side in fixed.shape]
    quadrants = (_found_near(fixed[part], moving[part]) for part in product(*halves))
    shifts = [found.shift for found in quadrants if found.is_sure]
    return max((float(np.linalg.norm(a - b)) for a, b in combinations(shifts, 2)), default=0.0)


def _common(shape: tuple[int, ...], shift: npt.NDArray[np.int_]) -> tuple[Part, Part]:
    """What both images show, in the fixed and in the moving one, if it has a whole shift."""
    ends = [
        (max(0, -by), side - max(0, by)) for side, by in zip(shape, shift.tolist(), strict=True)
    ]
    (top, bottom), (left, right) = ends
    dy, dx = shift.tolist()
    return (
        (slice(top, bottom), slice(left, right)),
        (slice(top + dy, bottom + dy), slice(left + dx, right + dx)),
    )


def _peak(fixed: FloatImage, moving: FloatImage) -> npt.NDArray[np.int_]:
    """The whole shift at the peak of the cross-correlation.

    Frequencies count by the root of their power: by all of it, the broadest structures alone would
    decide, and by none, as in a phase correlation, noise would.
    """
    from scipy import fft

    shape = fixed.shape
    sizes = [fft.next_fast_len(side, real=True) for side in shape]
    taper = np.outer(*(_taper(side) for side in shape)).astype(np.float32)
    spectra = [fft.rfft2((image - image.mean()) * taper, sizes) for image in (fixed, moving)]
    cross = spectra[0].conj() * spectra[1]
    cross /= np.sqrt(np.abs(cross) + np.finfo(np.float32).tiny)
    surface = fft.irfft2(cross, sizes)
    highest = np.unravel_index(surface.argmax(), surface.shape)
    # The peak tells a shift but for a whole frame; what both images show decides.
    modulo = [(int(at), int(at) - size) for at, size in zip(highest, sizes, strict=True)]
    candidates = [
        np.array(shift)
        for shift in product(*modulo)
        if all(abs(by) <= FARTHEST_SHARE * side for by, side in zip(shift, shape, strict=True))
    ]

    def likeness(shift: npt.NDArray[np.int_]) -> float:
        here, there = _common(shape, shift)
        return correlation(fixed[here], moving[there])

    return max(candidates, key=likeness, default=np.zeros(2, int))


def _taper(side: int) -> npt.NDArray[np.float64]:
    """Weights of a side's pixels: 1, and a rise from 0 at both ends."""
    to_end = np.minimum(np.arange(side), np.arange(side)[::-1]) + 0.5
    return np.asarray(np.sin(np.pi / 2 * np.minimum(to_end / (TAPERED_SHARE * side), 1)) ** 2)


def _refined(fixed: FloatImage, moving: FloatImage) -> Found:
    """Shift within a few pixels, by least squares.

    Each Gauss-Newton step fits the moved image by gain, offset and the fixed one's gradient, which
    stays the same, so that a step costs one interpolation.
    """
    unmoved = Found(np.zeros(2), 0.0)
    if min(fixed[INNER].shape) < MIN_SIDE_PX:
        return unmoved
    parts = [part[INNER] for part in (fixed, *np.gradient(fixed))]
    # Without their means, the offset is fitted as well.
    basis = [part - part.mean() for part in parts]
    products = np.array([[(a * b).sum() for b in basis] for a in basis], float)
    shift = unmoved.shift
    for _ in range(MAX_STEPS):
        moved = _pulled(moving, shift)
        with_basis = np.array([(part * moved).sum() for part in basis], float)
        try:
            gain, *ahead = np.linalg.solve(products, with_basis)
        except np.linalg.LinAlgError:
            return unmoved
        if not gain > 0:
            return unmoved
        step = np.array(ahead) / gain
        if np.abs(step).max() < PRECISION_PX:
            return Found(shift, correlation(parts[0], moved))
        shift = shift - step
        if np.abs(shift).max() > MARGIN_PX - 1:
            return unmoved
    return unmoved


def _pulled(image: FloatImage, shift: Shift) -> FloatImage:
    """The image without its margin, pulled by less than that, linear between pixels."""
    y, x = (int(at) for at in np.floor(shift))
    dy, dx = float(shift[0]) - y, float(shift[1]) - x
    height, width = (side - 2 * MARGIN_PX for side in image.shape)
    top, left = MARGIN_PX + y, MARGIN_PX + x
    part = image[top : top + height + 1, left : left + width + 1]
    rows = (1 - dy) * part[:-1] + dy * part[1:]
    return np.asarray((1 - dx) * rows[:, :-1] + dx * rows[:, 1:])
