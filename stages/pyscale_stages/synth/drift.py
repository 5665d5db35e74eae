"""Drift of the microscope's stage over a movie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyscale_stages.synth.drifted import DriftedParams
    from pyscale_stages.synth.params import SynthParams

Stream = Literal["drift", "cells", "turnover", "texture", "camera", "noise"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)


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
