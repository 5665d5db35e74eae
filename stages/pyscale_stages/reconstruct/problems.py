"""The three problems: an image, operators that see parts of it, and what they measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import how_to_install
from pyscale_stages.reconstruct.conebeam import ConeBeam
from pyscale_stages.reconstruct.images import image_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.torchdevice import make_torchvision_importable

if TYPE_CHECKING:
    from deepinv.physics import LinearPhysics

LENGTHS_PX = (2.0, 4.0)
"""Standard deviations along a blur, from the first to the last."""
WIDTHS_PX = (1.2, 0.6)
"""Standard deviations across it: the longest is the narrowest."""
KERNEL_PX = 25
"""Holds three standard deviations of the longest to each side."""

HALF_TURN, TURN = 180.0, 360.0
"""Degrees that suffice for parallel beams, and those of cone beams."""


@dataclass(frozen=True)
class Problem:
    """One image, (1, channels, *lengths) on the CPU, and operators through which it is known."""

    params: ReconstructParams
    seed: int
    image: torch.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels and lengths in pixels."""
        return tuple(self.image.shape[1:])

    @property
    def operators(self) -> int:
        """Operators of all ranks."""
        return self.params.operators

    @property
    def tiling_dims(self) -> tuple[int, ...]:
        """Dimensions of the image that tiles cut, counted from the last."""
        return tuple(range(1 - len(self.shape), 0))

    def operator(self, index: int, device: torch.device | str) -> LinearPhysics:
        """Build one operator on a device."""
        # It is not normalised: operators scaled apart would no longer be parts of one.
        make_torchvision_importable()
        import deepinv.physics

        params = self.params
        if params.problem == "colour_deblur":
            # Wrapping round at the border keeps the norm of every blur at 1.
            return deepinv.physics.Blur(
                anisotropic_gaussian(index, params.operators).to(device),
                padding="circular",
                use_fft=True,
                device=device,
            )
        if params.problem == "tomography_2d":
            return _parallel_beams(params, index, device)
        beams = ConeBeam(params.size_px, angles_of(params, index))
        if params.projector == "astra":
            return _by_astra(beams, device)
        return deepinv.physics.LinearPhysics(
            A=beams.project, A_adjoint=beams.back_project, device=device
        )

    def measurement(
        self, index: int, device: torch.device | str, operator: LinearPhysics | None = None
    ) -> torch.Tensor:
        """Measure the image by one operator, with noise."""
        # The noise follows from the seed and the operator's number alone, on any device and number
        # of ranks.
        with torch.no_grad():
            sees = operator if operator is not None else self.operator(index, device)
            clean: torch.Tensor = sees.A(self.image.to(device))
            # Apart from what the phantom draws of the same seed.
            random = np.random.default_rng((self.seed, 1, index))
            noise = torch.from_numpy(random.standard_normal(clean.shape, np.float32)).to(device)
            return clean + self.params.noise * clean.abs().max() * noise


def problem_of(params: ReconstructParams, seed: int) -> Problem:
    """Make the image of a problem; its operators are built where they are wanted."""
    pixels = np.ascontiguousarray(image_of(params, seed)[None])
    return Problem(params, seed, torch.from_numpy(pixels))


def angles_of(params: ReconstructParams, index: int) -> tuple[float, ...]:
    """Angles of one operator of a tomography, in degrees, of all that are spread evenly."""
    whole = HALF_TURN if params.problem == "tomography_2d" else TURN
    first, stop = (number * params.angles // params.operators for number in (index, index + 1))
    return tuple(whole * number / params.angles for number in range(first, stop))


def _parallel_beams(
    params: ReconstructParams, index: int, device: torch.device | str
) -> LinearPhysics:
    from deepinv.physics import Tomography

    operator = Tomography(
        angles=torch.tensor(angles_of(params, index), device=device),
        img_width=params.size_px,
        circle=False,
        adjoint_via_backprop=True,
        normalize=False,
        device=device,
    )
    # Serves filtered back-projection alone, and takes as much memory as all the rest.
    del operator.iradon
    return operator


def _by_astra(beams: ConeBeam, device: torch.device | str) -> LinearPhysics:
    """Let ASTRA compute the same rays; its back projection is near the transpose, not the same."""
    from deepinv.physics import TomographyWithAstra

    if torch.device(device).type != "cuda" or torch.version.cuda is None:
        raise MissingPart(
            f"the projector astra needs an NVIDIA GPU, but this rank computes on {device}: give "
            "it one, or set projector to torch"
        )
    try:
        return TomographyWithAstra(
            img_size=(beams.size,) * 3,
            n_detector_pixels=(beams.size,) * 2,
            geometry_type="conebeam",
            geometry_vectors=beams.vectors(),
            normalize=False,
            device=device,
        )
    except ImportError as error:
        raise MissingPart(
            f"the projector astra needs astra-toolbox, which cannot be imported here ({error}): "
            f"{how_to_install('reconstruct_astra')}, or set projector to torch"
        ) from error


def anisotropic_gaussian(index: int, count: int) -> torch.Tensor:
    """Make one blur of several, with directions spread evenly over half a turn and a sum of 1."""
    share = index / max(1, count - 1)
    along, across = (first + share * (last - first) for first, last in (LENGTHS_PX, WIDTHS_PX))
    angle = np.pi * index / count
    off = np.arange(KERNEL_PX) - KERNEL_PX // 2
    u = np.cos(angle) * off[None, :] + np.sin(angle) * off[:, None]
    v = np.cos(angle) * off[:, None] - np.sin(angle) * off[None, :]
    kernel = np.exp(-0.5 * ((u / along) ** 2 + (v / across) ** 2))
    return torch.from_numpy((kernel / kernel.sum()).astype(np.float32)[None, None])
