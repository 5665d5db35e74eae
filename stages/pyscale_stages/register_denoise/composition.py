"""Adds up the steps between neighbouring frames, and moves each frame by their sum."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pyscale_stages.register_denoise.ants_calls import move, write_transform
from pyscale_stages.register_denoise.correction import CorrectedFrame
from pyscale_stages.register_denoise.frames import as_dtype
from pyscale_stages.register_denoise.transforms import LinearTransform

NOWHERE = LinearTransform()


class Composition:
    """Where the specimen has drifted since frame 0, frame by frame.

    The same frames and steps give the same pixels, whether one task added them up or `merge` did.
    """

    def __init__(self) -> None:
        self._so_far = NOWHERE

    def placed(self, frame: CorrectedFrame) -> CorrectedFrame:
        """Add the next frame's step, and show the frame where frame 0 has it."""
        step = LinearTransform(**{field.name: frame.row[field.name] for field in fields(NOWHERE)})
        self._so_far = step.after(self._so_far)
        if self._so_far == NOWHERE:
            return frame
        images = [channel.astype(np.float32) for channel in frame.pixels]
        height, width = frame.pixels.shape[1:]
        with TemporaryDirectory(prefix="pyscale_ants_") as scratch:
            file = Path(scratch) / "sum.mat"
            write_transform(self._so_far, (height, width), file)
            moved, seen = move(images, (str(file),))
        dtype = frame.pixels.dtype
        return CorrectedFrame(
            pixels=np.stack([as_dtype(image, dtype) for image in moved]),
            seen=seen,
            row=frame.row | asdict(self._so_far),
        )
