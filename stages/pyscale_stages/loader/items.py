"""Items of a batch of any dataset: its pixels, how many patches, and their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pyscale_stages.errors import BadInput

SLIDE_KEYS = ("slide_path", "slide")
"""Names under which a data set may say the slide of a patch."""


@dataclass(frozen=True)
class Places:
    """Where the patches of one batch lie.

    `slides`: the slide of each patch. `x_px`, `y_px`: corner of each patch in pixels of the slide's
    largest level; empty where unknown. `levels`: level that each was read from; empty where
    unknown.
    """

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
    """Where the patches of a batch lie; None where it does not say the slides.

    The numbers are copied: a tensor from a loader process keeps a file open as long as it lives.
    """
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
