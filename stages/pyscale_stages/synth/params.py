"""Parameters of a synthetic movie, and the drift and random streams that follow from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from pyscale_stages.contract import Record

if TYPE_CHECKING:
    from pyscale_stages.synth.drifted import DriftedParams

Stream = Literal["drift", "cells", "turnover", "texture", "camera", "noise"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)
MAX_COVERED_SHARE = 0.7
"""Share of the field that cells may cover: beyond it they no longer fit side by side."""


class SynthParams(Record):
    """Parameters of a synthetic movie; the same parameters give the same bytes.

    Lengths are pixels, times are frames. `cells` is the mean number of cells of each type
    whose centre is in the field of view where the density profile is 1.
    """

    generator: Literal[1] = Field(
        1, description="Version of the generator: another version draws another movie"
    )
    seed: int = Field(0, ge=0, lt=2**32, description="Seed of everything random")
    frames: int = Field(40, ge=1, le=100_000, description="Length of the movie")
    height_px: int = Field(512, ge=32, le=8_192, description="Height of a frame")
    width_px: int = Field(512, ge=32, le=8_192, description="Width of a frame")
    cell_types: Literal[1, 2] = Field(2, description="Types of cells, each in its own channel")

    cells: int = Field(100, ge=1, description="Mean number of cells of each type in the field")
    density_profile: Literal["constant", "ramp", "burst"] = Field(
        "constant",
        description="Number of cells over time: constant; a straight ramp from 1 to "
        "density_peak times `cells`; or a burst that reaches it at two thirds of the movie",
    )
    density_peak: float = Field(
        3.0, gt=0, le=20, description="Multiple of `cells` at the end of a ramp or top of a burst"
    )

    radius_px: float = Field(10.0, ge=3, le=200, description="Mean radius of a grown cell")
    radius_spread: float = Field(
        0.12, ge=0, le=0.25, description="Standard deviation of the radius over its mean"
    )
    elongation: float = Field(
        1.3, ge=1, le=2, description="Mean ratio of the long to the short axis of a cell"
    )
    irregularity: float = Field(
        0.06, ge=0, le=0.15, description="Amplitude of lobes on a cell's outline over its radius"
    )

    speed_px: float = Field(0.2, ge=0, description="Root-mean-square step of a cell in a frame")
    persistence: float = Field(
        0.8, ge=0, lt=1, description="Correlation of a cell's velocity from frame to frame"
    )
    division_rate: float = Field(
        0.005, ge=0, le=0.2, description="Probability that a grown cell divides in a frame"
    )
    max_drift_px: float = Field(
        4.0, ge=0, le=500, description="Largest drift of the stage along each axis; 0 is none"
    )

    psf_sigma_px: float = Field(1.2, ge=0.3, le=20, description="Standard deviation of the blur")
    signal_photons: float = Field(
        220.0, gt=0, le=10_000, description="Photons that a cell of mean brightness gives a pixel"
    )
    brightness_spread: float = Field(
        0.25, ge=0, le=1, description="Standard deviation of the logarithm of brightness"
    )
    background_photons: float = Field(
        20.0, ge=0, le=10_000, description="Photons that reach a pixel where there is no cell"
    )
    illumination_loss: float = Field(
        0.35, ge=0, le=0.95, description="Share of light that the darkest corner lacks"
    )
    read_noise_electrons: float = Field(
        1.4, ge=0, le=100, description="Median read noise of a camera pixel"
    )
    gain_counts: float = Field(2.0, gt=0, le=50, description="Camera counts a photo-electron")
    offset_counts: float = Field(
        100.0, ge=0, le=10_000, description="Camera counts of a pixel that sees no light"
    )

    @model_validator(mode="after")
    def _cells_fit(self) -> SynthParams:
        shortest = min(self.height_px, self.width_px)
        if 4 * self.radius_px > shortest:
            raise ValueError(
                f"cells of radius_px {self.radius_px:g} do not fit the field: use at most "
                f"{shortest / 4:g}"
            )
        if self.max_drift_px > shortest / 2:
            raise ValueError(
                f"a max_drift_px of {self.max_drift_px:g} leaves no common field: use at most "
                f"{shortest / 2:g}"
            )
        if self.speed_px > shortest / 4:
            raise ValueError(
                f"a speed_px of {self.speed_px:g} crosses the field in a few frames: use at most "
                f"{shortest / 4:g}"
            )
        densest = (0, self._burst_frame(), self.frames - 1)
        peak = max(self.density(frame) for frame in densest)
        field_px2 = self.height_px * self.width_px
        cell_px2 = math.pi * self.radius_px**2 * (1 + self.radius_spread**2)
        fitting = int(MAX_COVERED_SHARE * field_px2 / (cell_px2 * self.cell_types * peak))
        if self.cells > fitting:
            raise ValueError(
                f"{self.cells} cells of each type, {peak:g} times as many at the densest, do not "
                f"fit the field: use at most {fitting} cells, smaller ones, or a larger field"
            )
        return self

    def _burst_frame(self) -> int:
        return round(2 * (self.frames - 1) / 3)

    def density(self, frame: int) -> float:
        """Multiple of `cells` that the density profile gives a frame."""
        if self.density_profile == "ramp":
            return 1 + (self.density_peak - 1) * frame / max(self.frames - 1, 1)
        if self.density_profile == "burst":
            width = max(self.frames / 12, 1.0)
            offset = (frame - self._burst_frame()) / width
            return 1 + (self.density_peak - 1) * math.exp(-0.5 * offset**2)
        return 1.0

    @property
    def shape_yx(self) -> tuple[int, int]:
        """Height and width of a frame in pixels."""
        return self.height_px, self.width_px


def drift_path(params: SynthParams | DriftedParams) -> npt.NDArray[np.float64]:
    """Position of the specimen since frame 0: a random walk, reflected at `max_drift_px`."""
    limit = params.max_drift_px
    path = np.zeros((params.frames, 2))
    if limit == 0:
        return path
    steps = random_stream(params.seed, "drift").normal(0, limit / 5, (params.frames - 1, 2))
    path[1:] = np.cumsum(steps, axis=0)
    # A triangle wave reflects the walk at both limits and leaves zero where it is.
    return np.asarray(limit - np.abs((path + limit) % (4 * limit) - 2 * limit))


def random_stream(seed: int, stream: Stream, frame: int = 0) -> np.random.Generator:
    """Random numbers for one purpose in one frame, independent of all others."""
    return np.random.default_rng((seed, _STREAMS.index(stream), frame))
