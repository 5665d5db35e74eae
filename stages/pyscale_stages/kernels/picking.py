"""Template picking: normalised cross-correlation of micrographs with rotated templates.

Inside the template's round mask, both template and micrograph are brought to mean 0 and
deviation 1, so that a match of shape counts and brightness does not. Sums over the mask at every
place are correlations as well, and are computed as Fourier products (Roseman 2003,
doi:10.1016/S0304-3991(02)00333-9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation
from torch.nn.functional import affine_grid, grid_sample

from pyscale_stages.kernels.particles import random_blobs
from pyscale_stages.kernels.stage import KernelParams
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work

Places = npt.NDArray[np.int64]

N_VIEWS = 2
NOISE_OF_SIGNAL = 1.0
"""Deviation of the noise, in those of a particle's projection inside its box."""
FOUND_WITHIN_PX = 3.0
MISSED_TOLERANCE = 0.1


@dataclass(frozen=True)
class Micrographs:
    """Micrographs with particles at known places, and the views of the particle."""

    images: npt.NDArray[np.float32]
    """As (micrograph, y, x)."""
    places: list[Places]
    """Of each micrograph, as (particle, yx)."""
    templates: npt.NDArray[np.float32]
    """As (view, y, x)."""


def simulate(params: KernelParams, rng: np.random.Generator) -> Micrographs:
    """Put particles, in-plane rotated at random, on a loose grid that keeps them apart."""
    px, size = params.template_px, params.micrograph_px
    blobs = random_blobs(rng, px)
    views = [
        blobs.rotated(matrix) for matrix in Rotation.random(N_VIEWS, random_state=rng).as_matrix()
    ]
    templates = np.stack([view.projection(px) for view in views])
    noise = NOISE_OF_SIGNAL * float(templates.std())
    images = noise * rng.standard_normal((params.micrographs, size, size)).astype(np.float32)
    pitch = px + px // 2
    cells = np.arange(pitch, size - pitch, pitch)
    places = []
    for image in images:
        grid = np.stack(np.meshgrid(cells, cells, indexing="ij"), axis=-1).reshape(-1, 2)
        # Boxes are px / 2 apart and come nearer by px / 4 at most.
        grid = grid + rng.integers(-(px // 8), px // 8 + 1, grid.shape)
        for y, x in grid:
            turn = Rotation.from_euler("z", rng.uniform(0, 360), degrees=True).as_matrix()
            particle = views[rng.integers(N_VIEWS)].rotated(turn).projection(px)
            image[y - px // 2 : y + px // 2 + 1, x - px // 2 : x + px // 2 + 1] += particle
        places.append(grid)
    return Micrographs(images, places, templates)


def prepare(bench: Bench) -> Work[list[Places]]:
    """Micrographs on the host; templates are rotated on the device, in every run."""
    params = bench.params
    made = simulate(params, bench.rng("picking"))
    templates = torch.from_numpy(made.templates).to(bench.device)
    size = params.micrograph_px
    mask = disc(params.template_px, bench.device)
    of_mask = transform(mask[None], size)

    def once(clock: StepClock) -> list[Places]:
        found = []
        for image, known in zip(made.images, made.places, strict=True):
            with clock.transfer("put_micrograph_on_device", image.nbytes):
                there = torch.from_numpy(image).to(bench.device)
            with clock.step("rotate_templates"):
                rotated = rotate(templates, params.template_angles)
                rotated = normalised(rotated, mask)
            with clock.step("fft"):
                there = there - there.mean()
                of_image, of_square = torch.fft.rfft2(there), torch.fft.rfft2(there**2)
            with clock.step("normalise"):
                spread = local_spread(of_image, of_square, of_mask, float(mask.sum()), size)
            best = torch.full((size, size), -1.0, device=bench.device)
            for batch in torch.split(rotated, params.template_batch):
                with clock.step("correlate"):
                    scores = correlate(of_image, transform(batch, size), size) / spread
                    best = torch.maximum(best, scores.amax(dim=0))
            with clock.step("peaks"):
                peaks = highest_peaks(best, len(known), apart_px=params.template_px // 2)
            with clock.step("get_result"):
                found.append(peaks.cpu().numpy())
        return found

    def judge(found: list[Places]) -> Judgement:
        missed = [
            np.mean(KDTree(got).query(known)[0] > FOUND_WITHIN_PX)
            for known, got in zip(made.places, found, strict=True)
        ]
        return Judgement(
            checksum=float(np.mean([got.mean() for got in found])),
            error=float(np.mean(missed)),
            tolerance=MISSED_TOLERANCE,
            more={"particles": float(sum(len(known) for known in made.places))},
        )

    return Work(once, judge)


def disc(px: int, device: torch.device) -> torch.Tensor:
    """Largest round mask of a template, as (y, x)."""
    from_middle = torch.arange(px, device=device) - px // 2
    return ((from_middle[:, None] ** 2 + from_middle**2) <= (px // 2) ** 2).float()


def rotate(templates: torch.Tensor, n_angles: int) -> torch.Tensor:
    """Each template at each angle, as (view and angle, y, x), interpolated bilinearly."""
    angles = torch.arange(n_angles, device=templates.device) * (2 * torch.pi / n_angles)
    cos, sin, zero = torch.cos(angles), torch.sin(angles), torch.zeros_like(angles)
    matrices = torch.stack([cos, -sin, zero, sin, cos, zero], dim=1).reshape(-1, 2, 3)
    n_views, px = templates.shape[0], templates.shape[-1]
    grid = affine_grid(matrices.repeat(n_views, 1, 1), [n_views * n_angles, 1, px, px], False)
    images = templates.repeat_interleave(n_angles, dim=0)[:, None]
    return grid_sample(images, grid, align_corners=False)[:, 0]


def normalised(templates: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Templates with mean 0 and norm 1 inside the mask, and 0 outside."""
    mean = (templates * mask).sum(dim=(-2, -1), keepdim=True) / mask.sum()
    inside = (templates - mean) * mask
    return inside / inside.square().sum(dim=(-2, -1), keepdim=True).sqrt()


def transform(templates: torch.Tensor, size: int) -> torch.Tensor:
    """Transforms of templates in the corner of a micrograph, their middle at pixel 0."""
    px = templates.shape[-1]
    padded = torch.nn.functional.pad(templates, (0, size - px, 0, size - px))
    middle_first = padded.roll((-(px // 2), -(px // 2)), dims=(-2, -1))
    found: torch.Tensor = torch.fft.rfft2(middle_first)
    return found


def correlate(of_image: torch.Tensor, of_templates: torch.Tensor, size: int) -> torch.Tensor:
    """Correlation of a micrograph with templates, as (template, y, x), around its edges."""
    found: torch.Tensor = torch.fft.irfft2(of_image * of_templates.conj(), s=(size, size))
    return found


def local_spread(
    of_image: torch.Tensor,
    of_square: torch.Tensor,
    of_mask: torch.Tensor,
    n_in_mask: float,
    size: int,
) -> torch.Tensor:
    """Root of the sum of squares about the mean inside the mask at every place, as (y, x)."""
    total = correlate(of_image, of_mask, size)[0]
    squares = correlate(of_square, of_mask, size)[0]
    # Rounding may make this negative where the micrograph is flat.
    return (squares - total**2 / n_in_mask).clamp(min=1e-6).sqrt()


def highest_peaks(scores: torch.Tensor, n: int, apart_px: int) -> torch.Tensor:
    """Places (y, x) of the n highest maxima of their neighbourhoods, the highest first."""
    pool, edge = torch.nn.functional.max_pool2d, 2 * apart_px + 1
    # The maximum of a square is that of its columns' maxima: far fewer comparisons.
    columns = pool(scores[None, None], (edge, 1), stride=1, padding=(apart_px, 0))
    highest = pool(columns, (1, edge), stride=1, padding=(0, apart_px))[0, 0]
    only_peaks = torch.where(scores == highest, scores, torch.full_like(scores, -1.0))
    index = only_peaks.reshape(-1).topk(n).indices
    width = scores.shape[1]
    return torch.stack([index.div(width, rounding_mode="floor"), index % width], dim=1)
