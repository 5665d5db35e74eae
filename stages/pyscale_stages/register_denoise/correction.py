"""Corrects one frame: register its driving channel, denoise, move every channel."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
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


@dataclass(frozen=True)
class CorrectedFrame:
    """One frame of the output, what of it the camera saw, and its row of transforms."""

    pixels: Pixels
    seen: Mask
    row: dict[str, Any]
    fallbacks: tuple[Fallback | None, ...] = ()


def reference_image(movie: Movie, params: RegisterDenoiseParams) -> FloatImage | None:
    """Driving channel of the frame that all others are registered to; None where none is."""
    if not params.registration:
        return None
    index = params.reference_frame
    image = movie.read(index, index + 1, params.channel)[0]
    if np.ptp(image) == 0:
        raise BadInput(
            f"the reference frame {index} of {movie.path} has one value everywhere in channel "
            f"{params.channel}: choose another reference_frame or channel"
        )
    return np.asarray(image.astype(np.float32))


def correct_frame(
    frame: Pixels,
    index: int,
    reference: FloatImage | None,
    params: RegisterDenoiseParams,
    movie_path: Path,
) -> CorrectedFrame:
    """Correct one frame by itself.

    Registration sees the raw pixels, so that transforms do not depend on the denoising;
    denoising sees them before interpolation makes the noise of neighbouring pixels alike.
    """
    # ANTs leaves its transforms in files; a folder for each frame keeps them apart.
    with TemporaryDirectory(prefix="pyscale_ants_") as scratch:
        try:
            correction, status = _found(frame, index, reference, params, Path(scratch))
        except RegistrationFailed as failure:
            raise BadInput(
                f"ANTs cannot register frame {index} of {movie_path} to frame "
                f"{params.reference_frame} by {params.transform} ({failure}): choose another "
                "reference_frame, channel or transform"
            ) from failure
        pixels, seen, fallbacks = _corrected(frame, correction, params)
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
) -> tuple[Correction, Status]:
    """The transform of a frame and why it has it."""
    # ANTs moves even the reference frame a little, and one of one value by any amount.
    if not params.registration:
        return IDENTITY, "not_registered"
    if reference is None or index == params.reference_frame:
        return IDENTITY, "reference"
    image = frame[params.channel].astype(np.float32)
    if np.ptp(image) == 0:
        return IDENTITY, "constant"
    found: Correction | None
    if params.backend == "fft":
        found = translation.register(reference, image)
    else:
        found = ants_calls.register(reference, image, params, scratch)
    if found is None:
        return IDENTITY, "doubtful"
    if is_doubtful(found, (reference.shape[0], reference.shape[1])):
        return replace(IDENTITY, correlation=found.correlation), "doubtful"
    return found, "registered"


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
