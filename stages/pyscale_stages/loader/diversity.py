"""Diversity of the patches of batches, from their places alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.loader.items import Places
from pyscale_stages.loading import Diversity

RUN_PATCHES = 1000
"""Patches over which slides are counted as equally shared or not."""


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
