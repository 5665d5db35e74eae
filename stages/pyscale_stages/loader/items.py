"""What batches hold: pixels and their places, how diverse these are, and a checksum of both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pyscale_stages.errors import BadInput
from pyscale_stages.loading import Diversity

SLIDE_KEYS = ("slide_path", "slide")
"""Names under which a data set may say the slide of a patch."""
RUN_PATCHES = 1000
"""Patches over which slides are counted as equally shared or not."""
DIGEST_BYTES = 16
SAME_NUMBER = 1e-3
"""Of steps between two grey values: how far single precision may lie from a whole one."""
CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Places:
    """Corners of the patches of a batch, in pixels of the largest level; empty where unknown."""

    slides: tuple[str, ...]
    x_px: tuple[float, ...] = ()
    y_px: tuple[float, ...] = ()
    levels: tuple[int, ...] = ()


def pixels_of(batch: object) -> torch.Tensor:
    """The images of a batch: its `image`, or else its first tensor of two or more axes."""
    named = batch.get("image") if isinstance(batch, Mapping) else None
    for tensor in _tensors(named if named is not None else batch):
        if tensor.ndim > 1:
            return tensor
    raise BadInput(
        "the dataset's items hold no tensor or array of pixels, so their patches cannot be "
        "counted: make each item a tensor, or a tuple or dict with one"
    )


def places_in(batch: object) -> Places | None:
    """Where the patches of a batch lie, copied from it; None where it does not say the slides."""
    if not isinstance(batch, Mapping):
        return None
    slides = next((batch[key] for key in SLIDE_KEYS if key in batch), None)
    if isinstance(slides, str) or not isinstance(slides, Sequence):
        return None
    x_px, y_px, levels = (_numbers(batch.get(key)) for key in ("x", "y", "level"))
    if not len(slides) == len(x_px) == len(y_px):
        x_px = y_px = ()
    return Places(
        slides=tuple(map(str, slides)),
        x_px=x_px,
        y_px=y_px,
        levels=tuple(map(int, levels)) if len(levels) == len(slides) else (),
    )


def _numbers(values: object) -> tuple[float, ...]:
    to_list = getattr(values, "tolist", None)
    # A list, as a tensor of a loader process that is kept holds a file open.
    listed: Any = to_list() if to_list is not None else values
    return tuple(listed) if isinstance(listed, list) else ()


def _tensors(part: object) -> Iterator[torch.Tensor]:
    """Every tensor in nested dicts, lists and tuples, in their order."""
    if isinstance(part, torch.Tensor):
        yield part
    elif isinstance(part, Mapping):
        for value in part.values():
            yield from _tensors(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _tensors(value)


def on_device(part: Any, device: torch.device) -> Any:
    """Copy every tensor of a batch to a device, from pinned memory without waiting for it."""
    if isinstance(part, torch.Tensor):
        return part.to(device, non_blocking=True)
    if isinstance(part, Mapping):
        return {key: on_device(value, device) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [on_device(value, device) for value in part]
    return part


def diversity_of(batches: Sequence[Places | None]) -> Diversity | None:
    """How slides are mixed, and how far apart patches lie; None where slides are unknown."""
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
    """Slides of equal share that are as diverse as those of patches in runs of some length."""
    # The inverse of the mean over runs of Simpson's index, the chance that two patches are of one
    # slide (Simpson 1949, DOI 10.1038/163688a0).
    n_runs = max(1, len(slides) // run_patches)
    runs = (slides[start * run_patches : (start + 1) * run_patches] for start in range(n_runs))
    indices = [sum((n / len(run)) ** 2 for n in Counter(run).values()) for run in runs]
    # Rounding must not make it less than one slide.
    return max(1.0, 1 / (sum(indices) / len(indices)))


def mean_distance_px(batches: Sequence[Places]) -> float | None:
    """Mean distance between two patches of one slide in one batch, over all such pairs."""
    from scipy.spatial.distance import pdist

    total_px, pairs = 0.0, 0
    for places in batches:
        by_slide: defaultdict[str, list[list[float]]] = defaultdict(list)
        # No corner is known where a data set does not say places.
        for slide, *corner in zip(places.slides, places.x_px, places.y_px, strict=False):
            by_slide[slide].append(corner)
        for corners in by_slide.values():
            distances_px = pdist(np.array(corners, dtype=np.float64))
            total_px += float(distances_px.sum())
            pairs += len(distances_px)
    return total_px / pairs if pairs else None


def checksum_of(take: Callable[[], Any], n_batches: int) -> tuple[str | None, int]:
    """Sum up slides, places, levels and pixels of the first patches, whatever their order."""
    # A sum and no exclusive or: a patch that comes twice would vanish from the latter.
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
    """Undo the division of whole grey values by the largest, where that is what was done."""
    # Bits of the file and floats from 0 to 1 made of them are the same patch.
    if patch.dtype.kind != "f" or patch.size == 0 or patch.min() < 0 or patch.max() > 1:
        return patch
    for kind in (np.uint8, np.uint16):
        greys = patch.astype(np.float64) * np.iinfo(kind).max
        whole = np.rint(greys)
        if np.abs(greys - whole).max() <= SAME_NUMBER * np.iinfo(kind).max / 255:
            return np.asarray(whole.astype(kind))
    return patch
