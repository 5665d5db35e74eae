"""Random numbers from one seed, in streams that do not disturb each other."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Stream = Literal["drift", "cells", "turnover", "texture", "camera", "noise"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)


def random_stream(seed: int, stream: Stream, frame: int = 0) -> np.random.Generator:
    """Random numbers for one purpose in one frame, independent of all others."""
    return np.random.default_rng((seed, _STREAMS.index(stream), frame))
