"""Reads a region of a slide in other processes, which import this module by its name."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np

from pyscale_stages.slides.slide import Slide

PATIENCE_S = 400.0

Region = tuple[int, int, int, int]
"""First row and column, height and width, at level 0."""


def total(slide: Slide, region: Region, plane: int = 0) -> int:
    """Sum of the pixels of a region."""
    return int(slide.read(0, *region, plane=plane).sum(dtype=np.int64))


def totals_elsewhere(slide: Slide, region: Region, method: str, plane: int = 0) -> list[int]:
    """The same, from two processes that were given the slide."""
    context: Any = multiprocessing.get_context(method)
    totals = context.Queue()
    others = [context.Process(target=_send, args=(slide, region, plane, totals)) for _ in range(2)]
    for process in others:
        process.start()
    found = [totals.get(timeout=PATIENCE_S) for _ in others]
    for process in others:
        process.join()
    return found


def totals_of_pool(slide: Slide, region: Region, method: str) -> list[int]:
    """The same, from processes that get what was pickled of the slide, handle and all."""
    context: Any = multiprocessing.get_context(method)
    with context.Pool(2) as processes:
        found: list[int] = processes.starmap_async(total, [(slide, region)] * 4).get(PATIENCE_S)
    return found


def _send(slide: Slide, region: Region, plane: int, totals: Any) -> None:
    totals.put(total(slide, region, plane))
