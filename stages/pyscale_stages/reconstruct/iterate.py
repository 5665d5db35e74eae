"""The iterations: a step along the gradient, then the denoiser, shared by ranks and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pyscale_stages.errors import ResourceExhausted, StageError, as_stage_error
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct.denoiser import memory_needed_bytes
from pyscale_stages.reconstruct.device import memory_left_bytes, what_ran_out
from pyscale_stages.reconstruct.problems import Problem
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import Grid, interior_mask
from pyscale_stages.reconstruction import COMPONENTS, Gate, Iteration
from pyscale_stages.timing import NestedTimes

if TYPE_CHECKING:
    from pyscale_stages.reconstruct.context import TimedContext

_POWER_ITERATIONS = 20
"""A fixed number: a tolerance could be met sooner by another number of ranks, which sum in
another order, and would change the step."""


class Components(NestedTimes):
    """The clock of one rank's iterations, and of the components of the last one."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__(COMPONENTS, wait)
        self.wall_s = 0.0
        """What all of the last iteration took, by readings of its own."""

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Forget what was timed, and time a block as an iteration."""
        self.seconds = dict.fromkeys(COMPONENTS, 0.0)
        self.wait()
        begun = time.perf_counter()
        yield
        self.wait()
        self.wall_s = time.perf_counter() - begun


@dataclass(frozen=True)
class Solver:
    """Physics and denoiser of one problem, as this rank holds its share of them."""

    context: TimedContext
    problem: Problem
    network: torch.nn.Module
    grid: Grid
    physics: Any
    fidelity: Any
    measurements: list[torch.Tensor | None]
    """Of each operator; None of those of other ranks."""
    denoised: Callable[[torch.Tensor], torch.Tensor]
    """Denoises an image, its tiles shared by the ranks."""
    step: float

    @property
    def operators_here(self) -> int:
        """Operators of this rank."""
        return len(self.physics.local_indexes)

    def gradient(self, image: torch.Tensor) -> torch.Tensor:
        """Gradient of the objective, summed over all ranks."""
        found: torch.Tensor = self.fidelity.grad(image, self.measurements, self.physics)
        return found

    def objective(self, image: torch.Tensor) -> float:
        """Half the squared distance from all measurements."""
        return float(self.fidelity.fn(image, self.measurements, self.physics))

    def iterate(self, image: torch.Tensor) -> torch.Tensor:
        """Return the next image, each component timed."""
        with self.context.computing("gradient"):
            stepped = image - self.step * self.gradient(image)
        with self.context.computing("denoiser"):
            denoised = self.denoised(stepped)
            # Giving memory back is part of the work.
            del stepped
        return denoised


def solver_of(
    problem: Problem,
    network: torch.nn.Module,
    params: ReconstructParams,
    grid: Grid,
    context: TimedContext,
) -> Solver:
    """Build this rank's operators and measurements, and share the rest by the engine."""
    # All ranks call this: they agree on random weights and on the length of a step.
    from deepinv.distributed import distribute
    from deepinv.optim.data_fidelity import L2

    device, operators = context.device, problem.operators

    def operator(index: int, device: torch.device, _shared: object) -> Any:
        return problem.operator(index, device)

    physics = distribute(operator, context, num_operators=operators, type_object="linear_physics")
    fidelity = distribute(L2(), context, num_operators=operators)
    built = dict(zip(physics.local_indexes, physics.local_physics, strict=True))
    measurements = [
        problem.measurement(index, device, built[index]) if index in built else None
        for index in range(operators)
    ]
    if params.weights is None:
        # Libraries of linear algebra may round the same seed's weights in several ways.
        for weights in network.state_dict().values():
            context.broadcast(weights)
    denoiser: Any = network
    if grid.tile_px is not None:
        denoiser = distribute(
            network,
            context,
            patch_size=grid.tile_px,
            overlap=grid.overlap_px,
            tiling_dims=problem.tiling_dims,
            max_batch_size=params.tiles_at_once,
        )
    ones = torch.ones((1, *problem.shape), device=device)
    return Solver(
        context=context,
        problem=problem,
        network=network,
        grid=grid,
        physics=physics,
        fidelity=fidelity,
        measurements=measurements,
        denoised=lambda image: denoiser(image, params.sigma),
        # The largest eigenvalue of A^T A bounds how fast the gradient changes, and so the step.
        step=1 / _squared_norm(physics.A_adjoint_A, ones),
    )


def timed_iterations(
    solver: Solver, group: Group, params: ReconstructParams
) -> tuple[torch.Tensor, tuple[Iteration, ...]]:
    """Iterate from an image of nothing, and time the iterations after warm-up."""
    # All ranks begin each together. Nothing is computed between iterations: the objective there
    # would leave in the caches what the next gradient begins with.
    components = solver.context.components
    image = torch.zeros((1, *solver.problem.shape), device=solver.context.device)
    timed = []
    for number in range(params.warmup_iterations + params.iterations):
        group.meet()
        with components.iteration():
            image = solver.iterate(image)
        if number >= params.warmup_iterations:
            seconds = {f"{name}_s": taken for name, taken in components.seconds.items()}
            timed.append(Iteration(wall_s=components.wall_s, **seconds))
    return image, tuple(timed)


def timed_objectives(
    solver: Solver, group: Group, image: torch.Tensor, count: int
) -> tuple[float, tuple[float, ...]]:
    """Compute the objective of an image so many times."""
    seconds = []
    for _ in range(count):
        group.meet()
        start = time.perf_counter()
        objective = solver.objective(image)
        seconds.append(time.perf_counter() - start)
    if not math.isfinite(objective):
        raise StageError(
            f"the objective of the last iteration is not a number ({objective}), because "
            "iterations with this denoiser diverge: use other weights"
        )
    return objective, tuple(seconds)


def _squared_norm(normal: Callable[[torch.Tensor], torch.Tensor], image: torch.Tensor) -> float:
    """Largest eigenvalue of A^T A, by power iterations."""
    # No operator here has a negative weight, so an image of ones is near its eigenvector.
    image = image / image.norm()
    for _ in range(_POWER_ITERATIONS):
        image = normal(image)
        norm = float(image.norm())
        image = image / norm
    return norm


def gate_of(solver: Solver, params: ReconstructParams, seed: int) -> Gate | None:
    """Compare gradient and denoised image of all ranks with those of the first one alone."""
    # All ranks call this; only the first compares, meets nobody meanwhile, and returns a gate. Of
    # noise: near a solution the gradient would be as small as what rounding leaves of it.
    context, problem = solver.context, solver.problem
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
        found: torch.Tensor = solver.network(image, params.sigma)
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
