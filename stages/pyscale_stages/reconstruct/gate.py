"""The check that ranks together compute what one computes alone."""

from __future__ import annotations

from collections.abc import Callable

import torch

from pyscale_stages.errors import ResourceExhausted, as_stage_error
from pyscale_stages.reconstruct.denoiser import memory_needed_bytes
from pyscale_stages.reconstruct.device import memory_left_bytes, what_ran_out
from pyscale_stages.reconstruct.iterate import Solver
from pyscale_stages.reconstruct.problems import Problem
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import interior_mask
from pyscale_stages.reconstruction import Gate


def gate_of(
    solver: Solver, problem: Problem, network: torch.nn.Module, params: ReconstructParams, seed: int
) -> Gate | None:
    """Compare gradient and denoised image of all ranks with those of the first one alone."""
    # All ranks call this; only the first compares, meets nobody meanwhile, and returns a gate. Of
    # noise: near a solution the gradient would be as small as what rounding leaves of it.
    context = solver.context
    if context.world_size == 1:
        return None
    noise = torch.rand((1, *problem.shape), generator=torch.Generator().manual_seed(seed))
    image = noise.to(context.device)
    # A GPU that just holds an iteration may have no room for what is kept to be compared.
    gradient, denoised = solver.gradient(image).cpu(), solver.denoised(image).cpu()
    if context.rank != 0:
        return None
    refused: list[str] = []

    def alone(what: str, compute: Callable[[], torch.Tensor]) -> torch.Tensor | None:
        try:
            return compute().cpu()
        except Exception as raised:
            known = as_stage_error(raised)
            if not isinstance(known, ResourceExhausted):
                raise
            refused.append(
                f"one rank alone has too little memory for {what} ({what_ran_out(known)})"
            )
            return None

    def denoised_whole() -> torch.Tensor:
        needed, left = memory_needed_bytes(problem.shape, params), memory_left_bytes(image.device)
        if left is not None and needed > left:
            raise ResourceExhausted(
                f"about {needed / 2**30:.1f} GiB are needed, but {left / 2**30:.1f} GiB are "
                "left: compare a smaller image"
            )
        found: torch.Tensor = network(image, params.sigma)
        return found

    serial = alone("the gradient of all operators", lambda: _serial_gradient(problem, image))
    whole = alone("the uncut image", denoised_whole)
    inside = torch.from_numpy(interior_mask(problem.shape, params))
    if not inside.any():
        refused.append(
            f"tiles of {params.tile_px} px with a margin of {params.overlap_px} px are too small "
            "to hold the network's field of view for any pixel"
        )
    return Gate(
        gradient=_deviation(gradient, serial, torch.ones_like(inside)),
        denoiser_interior=_deviation(denoised, whole, inside),
        denoiser_border=_deviation(denoised, whole, ~inside),
        interior_px=int(inside.sum()),
        why_not="; ".join(refused),
    )


def _serial_gradient(problem: Problem, image: torch.Tensor) -> torch.Tensor:
    """The gradient of one rank alone, an operator after the other."""
    total = torch.zeros_like(image)
    for index in range(problem.operators):
        operator = problem.operator(index, image.device)
        residual = operator.A(image) - problem.measurement(index, image.device, operator)
        total += operator.A_adjoint(residual)
    return total


def _deviation(
    found: torch.Tensor, expected: torch.Tensor | None, where: torch.Tensor
) -> float | None:
    """Largest difference where pixels count, as a share of the largest expected value."""
    if expected is None or not where.any():
        return None
    largest = (found - expected).abs()[:, :, where].max()
    return float(largest / expected.abs().max())
