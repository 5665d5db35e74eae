"""Corrects one frame: register its driving channel, denoise, move every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.register_denoise import ants_calls, translation
from pyscale_stages.register_denoise.ants_calls import RegistrationFailed
from pyscale_stages.register_denoise.denoisers import Fallback, denoise
from pyscale_stages.register_denoise.frames import FloatImage, as_dtype, output_dtype
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import (
    Correction,
    LinearTransform,
    Status,
    is_doubtful,
)
from pyscale_stages.validarea import Mask

NOWHERE = LinearTransform()
IDENTITY = Correction(NOWHERE)
LoadAnts = Callable[[], bool]
"""Import ANTs and seed it; false where it is not installed."""


@dataclass(frozen=True)
class CorrectedFrame:
    """One frame of the output, what of it the camera saw, and its row of transforms."""

    pixels: Pixels
    seen: Mask
    row: dict[str, Any]
    fallbacks: tuple[Fallback | None, ...] = ()


def reference_image(movie: Movie, start: int, params: RegisterDenoiseParams) -> FloatImage | None:
    """Driving channel of what the frame `start` is registered to; None where nothing is."""
    if not params.registration:
        return None
    index = start - 1 if params.adds_up else params.reference_frame
    if index < 0:
        return None
    image = movie.read(index, index + 1, params.channel)[0]
    if np.ptp(image) == 0 and not params.adds_up:
        raise BadInput(
            f"the reference frame {index} of {movie.path} has one value everywhere in channel "
            f"{params.channel}: choose another reference_frame or channel"
        )
    return np.asarray(image.astype(np.float32))


def driving_channel(frame: Pixels, params: RegisterDenoiseParams) -> FloatImage:
    """Channel of a frame, shape (C, Y, X), that is registered."""
    return np.asarray(frame[params.channel].astype(np.float32))


def correct_frame(
    frame: Pixels,
    index: int,
    reference: FloatImage | None,
    params: RegisterDenoiseParams,
    movie_path: Path,
    *,
    load_ants: LoadAnts,
) -> CorrectedFrame:
    """Correct one frame by itself; `load_ants` is called before ANTs registers it.

    Registration sees the raw pixels, so that transforms do not depend on the denoising;
    denoising sees them before interpolation makes the noise of neighbouring pixels alike.
    """
    to = index - 1 if params.adds_up else params.reference_frame
    # ANTs leaves its transforms in files; a folder for each frame keeps them apart.
    with TemporaryDirectory(prefix="pyscale_ants_") as scratch:
        try:
            correction, status = _found(
                frame, index, reference, params, Path(scratch), load_ants=load_ants
            )
        except RegistrationFailed as failure:
            raise BadInput(
                f"ANTs cannot register frame {index} of {movie_path} to frame {to} by "
                f"{params.transform} ({failure}): choose another reference_frame, channel or "
                "transform"
            ) from failure
        # A step between neighbours moves nothing until it is added to those before it.
        by = IDENTITY if params.adds_up else correction
        pixels, seen, fallbacks = _corrected(frame, by, params)
    return CorrectedFrame(
        pixels=pixels,
        seen=seen,
        row={
            "frame": index,
            "status": status,
            **asdict(correction.linear),
            "warp_max_px": correction.warp_max_px,
            "warp_mean_px": correction.warp_mean_px,
            "correlation": correction.correlation,
        },
        fallbacks=fallbacks,
    )


def _found(
    frame: Pixels,
    index: int,
    reference: FloatImage | None,
    params: RegisterDenoiseParams,
    scratch: Path,
    *,
    load_ants: LoadAnts,
) -> tuple[Correction, Status]:
    """The transform of a frame and why it has it."""
    # ANTs moves even the reference frame a little, and one of one value by any amount.
    if not params.registration:
        return IDENTITY, "not_registered"
    if reference is None or index == params.reference_frame:
        return IDENTITY, "reference"
    image = driving_channel(frame, params)
    # The frame before may have one value everywhere; a reference frame that has was refused.
    if np.ptp(image) == 0 or np.ptp(reference) == 0:
        return IDENTITY, "constant"
    found: Correction | None = None
    status: Status = "registered"
    if params.backend == "fft":
        found = translation.register(reference, image)
    # What the FFT is not sure of is asked of ANTs, where it is there.
    if found is None and (params.backend == "ants" or load_ants()):
        found = ants_calls.register(reference, image, params, scratch)
        status = "registered" if params.backend == "ants" else "handed_over"
    if found is None:
        return IDENTITY, "doubtful"
    if is_doubtful(found, (reference.shape[0], reference.shape[1])):
        return replace(IDENTITY, correlation=found.correlation), "doubtful"
    return found, status


def _corrected(
    frame: Pixels, correction: Correction, params: RegisterDenoiseParams
) -> tuple[Pixels, Mask, tuple[Fallback | None, ...]]:
    dtype = output_dtype(frame.dtype)
    seen = np.ones(frame.shape[1:], dtype=bool)
    moves = bool(correction.files) or correction.linear != NOWHERE
    if params.denoiser == "none" and not moves:
        return frame.astype(dtype), seen, ()
    images = [raw.astype(np.float32) for raw in frame]
    fallbacks: tuple[Fallback | None, ...] = ()
    if params.denoiser != "none":
        denoised = [denoise(image, params) for image in images]
        images = [one.pixels for one in denoised]
        fallbacks = tuple(one.fallback for one in denoised)
    if correction.files:
        images, seen = ants_calls.move(images, correction.files)
    elif moves:
        images, seen = translation.move(images, correction.linear)
    return np.stack([as_dtype(image, dtype) for image in images]), seen, fallbacks


class Composition:
    """Where the specimen has drifted since frame 0, added up alike in a task and in `merge`."""

    def __init__(self, params: RegisterDenoiseParams) -> None:
        self._backend = params.backend
        self._so_far = NOWHERE

    def placed(self, frame: CorrectedFrame) -> CorrectedFrame:
        """Add the next frame's step, and show the frame where frame 0 has it."""
        step = LinearTransform(**{field.name: frame.row[field.name] for field in fields(NOWHERE)})
        self._so_far = step.after(self._so_far)
        if self._so_far == NOWHERE:
            return frame
        images = [channel.astype(np.float32) for channel in frame.pixels]
        if self._backend == "fft":
            moved, seen = translation.move(images, self._so_far)
        else:
            with TemporaryDirectory(prefix="pyscale_ants_") as scratch:
                file = Path(scratch) / "sum.mat"
                ants_calls.write_transform(self._so_far, images[0].shape, file)
                moved, seen = ants_calls.move(images, (str(file),))
        dtype = frame.pixels.dtype
        return CorrectedFrame(
            pixels=np.stack([as_dtype(image, dtype) for image in moved]),
            seen=seen,
            row=frame.row | asdict(self._so_far),
        )
