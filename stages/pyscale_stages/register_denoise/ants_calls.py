"""The calls of ANTs for registration: register a frame, move pixels by the result."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import (
    Correction,
    LinearTransform,
    background,
    correlation,
    image_centre,
)
from pyscale_stages.validarea import Mask

LARGEST_SEED = 2**31 - 1
LIKENESS_BLOCK_PX = 4
"""Side of the blocks whose means are correlated: they average out most of the noise."""


class RegistrationFailed(Exception):  # noqa: N818 - what happened, not a defect
    """ANTs found no transform for a pair of frames."""


def is_here() -> bool:
    """Whether ANTs is installed, without importing it."""
    return find_spec("ants") is not None


def set_seed(seed: int) -> None:
    """Seed every registration that follows, each anew."""
    import ants

    # ANTs takes 0 for "seed by the clock".
    ants.config.set_ants_deterministic(on=False, seed_value=1 + seed % LARGEST_SEED)


def register(
    reference: FloatImage, frame: FloatImage, params: RegisterDenoiseParams, scratch: Path
) -> Correction:
    """Find the transform that makes `frame` look like `reference`; `scratch` takes its files."""
    import ants

    fixed, moving = (ants.from_numpy(_positive(image)) for image in (reference, frame))
    kind = "Affine" if params.transform == "SyN" else params.transform
    try:
        found = ants.registration(
            fixed,
            moving,
            type_of_transform=kind,
            outprefix=str(scratch / "linear_"),
            aff_iterations=params.iterations,
            aff_shrink_factors=params.shrink_factors,
            aff_smoothing_sigmas=params.smoothing_sigmas_px,
            aff_random_sampling_rate=params.sampling_fraction,
        )
        if params.transform == "SyN":
            # ants.registration("SyN") has its linear levels built in; in two steps the
            # parameters hold for every transform.
            found = ants.registration(
                fixed,
                moving,
                type_of_transform="SyNOnly",
                initial_transform=found["fwdtransforms"],
                outprefix=str(scratch / "warp_"),
                reg_iterations=params.syn_iterations,
            )
        files = tuple(found["fwdtransforms"])
        itk = ants.read_transform(next(file for file in files if file.endswith(".mat")))
    except (RuntimeError, StopIteration) as error:
        raise RegistrationFailed(str(error) or "no transform was written") from error
    linear = LinearTransform.about_image_centre(
        itk.parameters, itk.fixed_parameters, (reference.shape[0], reference.shape[1])
    )
    if not np.isfinite(linear.determinant + linear.ty_px + linear.tx_px) or linear.determinant <= 0:
        raise RegistrationFailed("the transform is not finite or turns the frame inside out")
    # ANTs keeps a deformation as .nii.gz, and a linear transform as .mat.
    warps = [np.linalg.norm(ants.image_read(f).numpy(), axis=-1) for f in files if f[-3:] == ".gz"]
    return Correction(
        linear=linear,
        files=files,
        warp_max_px=max((float(warp.max()) for warp in warps), default=0.0),
        warp_mean_px=sum(float(warp.mean()) for warp in warps),
        correlation=_likeness(fixed.numpy(), found["warpedmovout"].numpy()),
        correlation_unmoved=_likeness(fixed.numpy(), moving.numpy()),
    )


def move(images: list[FloatImage], files: tuple[str, ...]) -> tuple[list[FloatImage], Mask]:
    """Show the channels of a frame where the reference has them, and where the camera saw them.

    The rest is filled with the channel's background: 0 would lie far below a camera's offset, and a
    segmentation that scales a frame by its percentiles would lose the dim cells.
    """
    moved = [_moved(image, files, background(image)) for image in images]
    return moved, _moved(np.ones_like(images[0]), files, fill=0.0) >= 0.5


def write_transform(linear: LinearTransform, shape_yx: tuple[int, ...], path: Path) -> None:
    """Write a linear transform as a file that `move` reads."""
    import ants

    values = asdict(linear)
    transform = ants.new_ants_transform(
        precision="double",
        dimension=2,
        transform_type="AffineTransform",
        parameters=list(values.values()),
        fixed_parameters=list(image_centre(shape_yx)),
    )
    ants.write_transform(transform, str(path))


def _moved(image: FloatImage, files: tuple[str, ...], fill: float) -> FloatImage:
    import ants

    # Reference and frame have one size and one pixel grid, so the frame is its own grid.
    pixels = ants.from_numpy(image)
    moved = ants.apply_transforms(pixels, pixels, list(files), defaultvalue=fill).numpy()
    return np.asarray(moved.astype(np.float32, copy=False))


def _positive(image: FloatImage) -> FloatImage:
    """Lift an image to just above 0, so that ANTs' 0 marks what the camera did not see."""
    # A camera's offset would pull the centre of mass, from which ANTs starts, to the middle.
    return np.asarray(image - image.min() + np.float32(1e-3) * np.ptp(image))


def _likeness(first: FloatImage, second: FloatImage) -> float:
    """Pearson correlation of two images in blocks that the second has seen; 0 without contrast."""
    height, width = (side // LIKENESS_BLOCK_PX for side in first.shape)
    a, b = (
        image[: height * LIKENESS_BLOCK_PX, : width * LIKENESS_BLOCK_PX]
        .reshape(height, LIKENESS_BLOCK_PX, width, LIKENESS_BLOCK_PX)
        .swapaxes(1, 2)
        .reshape(height * width, LIKENESS_BLOCK_PX**2)
        for image in (first, second)
    )
    seen = b.all(axis=1)
    if not seen.any():
        return 0.0
    a, b = (blocks[seen].mean(axis=1, dtype=np.float64) for blocks in (a, b))
    return correlation(a, b)
