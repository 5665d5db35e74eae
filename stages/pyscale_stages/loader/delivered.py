"""What was delivered: how diverse the patches are, and a checksum of them in any order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.loader.items import Places, pixels_of, places_in
from pyscale_stages.loading import Diversity

RUN_PATCHES = 1000
"""Patches over which slides are counted as equally shared or not."""
DIGEST_BYTES = 16
SAME_NUMBER = 1e-3
"""Of steps between two grey values: how far single precision may lie from a whole one."""
CHANNELS = (1, 3, 4)


def diversity_of(batches: Sequence[Places | None]) -> Diversity | None:
    """Say how many slides are mixed in batches and in runs, and how far apart patches lie.

    `batches`: in the order in which training would be given them. Returns: None where a batch does
    not say its slides, or there is none.
    """
    known = [places for places in batches if places is not None and places.slides]
    if not known or len(known) < len(batches):
        return None
    slides = list(chain.from_iterable(places.slides for places in known))
    return Diversity(
        patches=len(slides),
        slides_per_batch=sum(len(set(places.slides)) for places in known) / len(known),
        distance_px=mean_distance_px(known),
        effective_slides=effective_slides(slides),
    )


def effective_slides(slides: Sequence[str], run_patches: int = RUN_PATCHES) -> float:
    """Slides of equal share that are as diverse as those of patches in runs of some length.

    In a run where slide s has the share p_s, Simpson's index is the sum of p_s squared: the
    chance that two patches, drawn with replacement, are of one slide (Simpson 1949,
    DOI 10.1038/163688a0). Its inverse is the number of equally common slides that gives the same
    chance. The index is averaged over runs, as a chance may be.

    `slides`: the slide of each patch, in order; at least one. `run_patches`: a last run that is
    shorter counts only where it is the only one.
    """
    n_runs = max(1, len(slides) // run_patches)
    runs = (slides[start * run_patches : (start + 1) * run_patches] for start in range(n_runs))
    indices = [sum((n / len(run)) ** 2 for n in Counter(run).values()) for run in runs]
    return max(1.0, 1 / (sum(indices) / len(indices)))


def mean_distance_px(batches: Sequence[Places]) -> float | None:
    """Mean distance between two patches of one slide in one batch, over all such pairs."""
    total_px, pairs = 0.0, 0
    for points in chain.from_iterable(_points_by_slide(places) for places in batches):
        for index in range(1, len(points)):
            total_px += float(np.hypot(*(points[index:] - points[index - 1]).T).sum())
        pairs += len(points) * (len(points) - 1) // 2
    return total_px / pairs if pairs else None


def _points_by_slide(places: Places) -> Iterator[NDArray[np.float64]]:
    """Corners, x and y in pixels, of the patches of each slide; none where unknown."""
    by_slide: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    if places.x_px:
        for slide, x_px, y_px in zip(places.slides, places.x_px, places.y_px, strict=True):
            by_slide[slide].append((x_px, y_px))
    for points in by_slide.values():
        yield np.array(points, dtype=np.float64)


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
