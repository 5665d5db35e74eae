"""Comparison of the patches of two loaders: a sum over places and pixels in any order."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.loader.items import Places, pixels_of, places_in

DIGEST_BYTES = 16
SAME_NUMBER = 1e-3
"""Of steps between two grey values: how far single precision may lie from a whole one."""
CHANNELS = (1, 3, 4)


def checksum_of(take: Callable[[], Any], n_batches: int) -> tuple[str | None, int]:
    """Sum up the first patches, so that the same ones in another order give the same.

    Of each patch the name of its slide, its place, its level and its pixels count. A sum and no
    exclusive or: a patch that comes twice would vanish from the latter.

    `n_batches`: how many of them count; it may be 0. Returns `checksum`: 32 hexadecimal digits;
    None of no patch.
    """
    total, patches = 0, 0
    for _ in range(n_batches):
        batch = take()
        pixels = pixels_of(batch).numpy(force=True)
        places = places_in(batch)
        for index, patch in enumerate(pixels):
            total += _number_of(patch, places, index)
            patches += 1
    return (f"{total % (1 << 8 * DIGEST_BYTES):032x}" if patches else None), patches


def _number_of(patch: NDArray[Any], places: Places | None, index: int) -> int:
    digest = blake2b(digest_size=DIGEST_BYTES)
    if places is not None:
        where = (
            PurePath(places.slides[index]).name,
            # As text, 12 and 12.0 are two places.
            *(float(axis[index]) for axis in (places.x_px, places.y_px) if axis),
            *places.levels[index : index + 1],
        )
        digest.update(repr(where).encode())
    whole = grey_values(channels_first(patch))
    digest.update(repr((whole.shape, whole.dtype.str)).encode())
    digest.update(np.ascontiguousarray(whole).tobytes())
    return int.from_bytes(digest.digest())


def channels_first(patch: NDArray[Any]) -> NDArray[Any]:
    """Bring a patch whose channels come last, as in files, into the order of networks."""
    if patch.ndim == 3 and patch.shape[-1] in CHANNELS and patch.shape[0] not in CHANNELS:
        return np.moveaxis(patch, -1, 0)
    return patch


def grey_values(patch: NDArray[Any]) -> NDArray[Any]:
    """Undo the division of whole grey values by the largest, where that is what was done.

    A data set may deliver the 8 or 16 bits of the file, or floats from 0 to 1 made of them: both
    are the same patch. Floats that are not whole grey values are left as they are.

    `patch`: any shape. Returns: the same shape; of uint8 or uint16 where floats were made of these.
    """
    if patch.dtype.kind != "f" or patch.size == 0 or patch.min() < 0 or patch.max() > 1:
        return patch
    for kind in (np.uint8, np.uint16):
        greys = patch.astype(np.float64) * np.iinfo(kind).max
        whole = np.rint(greys)
        if np.abs(greys - whole).max() <= SAME_NUMBER * np.iinfo(kind).max / 255:
            unscaled: NDArray[Any] = whole.astype(kind)
            return unscaled
    return patch
