"""Synthetic frames that the embedded model learns from, and others that it is judged by."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import Labels
from pyscale_stages.synth.movie import SynthParams, render_examples

Example = tuple[Pixels, Labels]
"""A frame (Y, X) and its true labels (Y, X)."""

HELD_OUT_SEED = 900_000
"""Movies with this seed or a higher one are never trained on."""

CELL_DIAMETERS_PER_SIDE = 13
"""Side of a training frame; a crop of it is what the network sees at once."""


MOTION: dict[str, float] = {"speed_px": 1.5, "persistence": 0.8, "max_drift_px": 4.0}
"""Given, not left to the generator's defaults: a change of those must not change the model."""


def training_movies(movies: int, seed: int) -> list[SynthParams]:
    """Draw movies that differ in everything that real ones differ in.

    Diameter, crowding, outline, brightness, blur, noise and light vary independently, so that
    the network can rely on none of them.

    Parameters
    ----------
    movies : int
        How many; each has two frames of one or two cell types.
    seed : int
        Below `HELD_OUT_SEED` minus `movies`.
    """
    if seed + movies > HELD_OUT_SEED:
        raise ValueError(f"seeds from {HELD_OUT_SEED} on are held out for judging")
    rng = np.random.default_rng(seed)
    return [_drawn(rng, seed + index) for index in range(movies)]


def training_examples(movies: int, seed: int) -> list[Example]:
    """Frames of the training movies, made less tidy than synthetic ones are."""
    rng = np.random.default_rng((seed, 1))
    return [
        (_roughened(frame, labels, movie.radius_px, rng), labels)
        for movie in training_movies(movies, seed)
        for frame, labels in examples(movie)
    ]


def held_out_movies() -> dict[str, SynthParams]:
    """Movies to judge a model by: by default, crowded, noisy and unevenly lit, small."""
    size: dict[str, float] = {"frames": 2, "height_px": 320, "width_px": 320, "cell_types": 2}
    common = MOTION | size | {"radius_px": 10.0, "division_rate": 0.02}
    drawn: dict[str, dict[str, float]] = {
        "default": {"cells": 70},
        "touching": {"cells": 110, "elongation": 1.4},
        "noisy": {"cells": 70, "signal_photons": 30, "read_noise_electrons": 4},
        "uneven": {"cells": 70, "illumination_loss": 0.8, "brightness_spread": 0.6},
        "small": {"cells": 180, "radius_px": 6.0},
    }
    return {
        name: SynthParams.model_validate(common | chosen | {"seed": HELD_OUT_SEED + index})
        for index, (name, chosen) in enumerate(drawn.items())
    }


def examples(params: SynthParams) -> Iterator[Example]:
    """Every frame and channel of a movie with its true labels."""
    for frames, labels in render_examples(params):
        yield from zip(frames, labels, strict=True)


def _roughened(frame: Pixels, labels: Labels, radius_px: float, rng: np.random.Generator) -> Pixels:
    """Add what real frames have and the synthetic camera has not.

    A few cells shine (mitosis), borders between touching cells need not be dark, focus is
    softer, and out-of-focus light makes faint clouds that are no cells.
    """
    from scipy.ndimage import gaussian_filter, grey_closing

    rough = frame.astype(np.float32)
    dark = float(np.median(rough[labels == 0]))
    contrast = float(rough[labels > 0].mean()) - dark
    if rng.random() < 0.4:
        shining = np.where(rng.random(int(labels.max()) + 1) < 0.04, rng.uniform(2, 6), 1)
        shining[0] = 1
        rough = dark + (rough - dark) * shining[labels].astype(np.float32)
    if rng.random() < 0.5:
        closed = grey_closing(rough, size=(5, 5))
        rough = np.where(labels > 0, closed, rough)
    if rng.random() < 0.5:
        rough = gaussian_filter(rough, rng.uniform(0, 0.2) * radius_px)
    if rng.random() < 0.6:
        grain = rng.standard_normal(rough.shape, np.float32)
        clouds = gaussian_filter(grain, rng.uniform(0.5, 2.5) * radius_px)
        clouds = np.clip(clouds / clouds.std(), 0, 3) / 3
        rough = rough + rng.uniform(0, 0.35) * contrast * clouds
    return rough


def _drawn(rng: np.random.Generator, seed: int) -> SynthParams:
    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def log_between(low: float, high: float) -> float:
        return math.exp(between(math.log(low), math.log(high)))

    radius = log_between(5, 16)
    spread = between(0.05, 0.25)
    side = round(CELL_DIAMETERS_PER_SIDE * 2 * radius)
    # The movie allows cells to cover 0.7 of the field, all types together: one type alone may
    # crowd it.
    types = int(rng.integers(1, 3))
    covered = between(0.06, 0.68 / types)
    cells = max(6, math.floor(covered * side**2 / (math.pi * radius**2 * (1 + spread**2))))
    return SynthParams(
        seed=seed,
        frames=2,
        height_px=side,
        width_px=side,
        cell_types=types,
        cells=cells,
        radius_px=radius,
        radius_spread=spread,
        elongation=between(1, 1.9),
        irregularity=between(0, 0.15),
        division_rate=0.1,
        psf_sigma_px=between(0.5, 0.16 * radius),
        signal_photons=log_between(15, 1000),
        brightness_spread=between(0.05, 0.7),
        background_photons=log_between(2, 100),
        illumination_loss=between(0, 0.8),
        read_noise_electrons=log_between(0.5, 8),
        **MOTION,
    )
