"""Reconstructs one image together with other ranks, and times it: the main path of the stage."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import Group, joined
from pyscale_stages.reconstruct.denoiser import RANDOM, network_of, weights_of
from pyscale_stages.reconstruct.device import (
    backend_of,
    memory_peak_bytes,
    memory_pss_bytes,
    memory_total_bytes,
    prepared,
    refuse_unequal,
    told,
)
from pyscale_stages.reconstruct.iterate import (
    Components,
    Solver,
    gate_of,
    solver_of,
    timed_iterations,
    timed_objectives,
)
from pyscale_stages.reconstruct.output import Image, write_image
from pyscale_stages.reconstruct.problems import problem_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import grid_of, interior_mask
from pyscale_stages.reconstruction import Gate, Iteration, Reconstruction
from pyscale_stages.task import Task
from pyscale_stages.torchdevice import make_torchvision_importable, name_of, wait_for


def run(task: Task[ReconstructParams]) -> None:
    """Reconstruct the image of the task's seed, timing every iteration; comparisons come after."""
    params, spec = task.params, task.spec
    with task.span("import"):
        make_torchvision_importable()
        import deepinv.distributed  # noqa: F401 - the import is what is timed
    backend = backend_of(spec.device)
    with joined(spec.rank, spec.ranks, spec.meeting, backend) as group, torch.no_grad():
        task.versions |= group.transport
        place = f"rank {spec.rank} of {spec.ranks} on {node_name()}"
        with task.span("model_load"):
            solver, weights, setup_s = _ready(task, params, group, place)
        if group.number == 0:
            _warn_of_idle_ranks(task, group.count, params.operators, solver.grid.tiles)
        with told(place):
            solved = _solved(task, params, group, solver)
    task.add_sample(_record(task, params, solver, solved, weights=weights, setup_s=setup_s))
    if solver.context.device.type == "cuda":
        task.gpu_own_peak_bytes = solved.peak_bytes
    with told(place), task.span("write"):
        if spec.rank == 0:
            write_image(task, solved.image)
        task.write_window((spec.rank, spec.rank + 1), spec.ranks)
    task.count(frames=int(spec.rank == 0))


def _warn_of_idle_ranks(task: Task, ranks: int, operators: int, tiles: int) -> None:
    for count, shared, computed in (
        (operators, "operators", "compute the gradient"),
        (tiles, "tiles", "denoise"),
    ):
        if ranks > count:
            task.warn(
                f"{ranks} ranks share {count} {shared}, so {ranks - count} of them wait while the "
                f"others {computed}: use fewer ranks, or more {shared}",
                "idle-ranks",
            )


def _ready(
    task: Task, params: ReconstructParams, group: Group, place: str
) -> tuple[Solver, str, float]:
    """Make the image, this rank's operators and the denoiser, and agree with the other ranks."""
    from pyscale_stages.reconstruct.context import TimedContext

    spec = task.spec
    with told(place):
        with task.unmeasured():
            weights = weights_of(params)
        start = time.perf_counter()
        device = prepared(spec.device, group.number, spec.threads)
        problem = problem_of(params, spec.seed)
        grid = grid_of(problem.shape, params, group.count)
        network = network_of(problem.shape, params, spec.seed, device)
    # But for the file of weights, which need not lie at one place.
    asked = f"{spec.seed} {params.model_dump_json(exclude={'weights'})} {weights}"
    refuse_unequal(group, place, device, asked)
    context = TimedContext(group, device, Components(partial(wait_for, device)))
    with told(place):
        solver = solver_of(problem, network, params, grid, context)
    return solver, weights, time.perf_counter() - start


class Solved(NamedTuple):
    """What iterating gave."""

    image: Image
    iterations: tuple[Iteration, ...]
    objective: float
    objectives_s: tuple[float, ...]
    peak_bytes: int
    pss_bytes: int | None
    """Both of memory, before anything was compared."""
    gate: Gate | None


def _solved(task: Task, params: ReconstructParams, group: Group, solver: Solver) -> Solved:
    with task.span("compute"):
        image, iterations = timed_iterations(solver, group, params)
        objective, objectives_s = timed_objectives(solver, group, image, len(iterations))
    peak_bytes, pss_bytes = memory_peak_bytes(solver.context.device), memory_pss_bytes()
    found = image[0].cpu().numpy()
    # What is compared needs the room.
    del image
    gate = gate_of(solver, params, task.spec.seed) if params.gate else None
    return Solved(found, iterations, objective, objectives_s, peak_bytes, pss_bytes, gate)


def _record(
    task: Task,
    params: ReconstructParams,
    solver: Solver,
    solved: Solved,
    *,
    weights: str,
    setup_s: float,
) -> Reconstruction:
    rank, ranks = task.spec.rank, task.spec.ranks
    carrier = "nccl" if "nccl" in backend_of(task.spec.device) else "gloo"
    problem, device = solver.problem, solver.context.device
    psnr = psnr_interior = psnr_border = None
    if rank == 0:
        truth = problem.image[0].numpy()
        psnr = psnr_db(solved.image, truth)
        inside = interior_mask(problem.shape, params)
        if inside.any():
            psnr_interior, psnr_border = (
                psnr_db(solved.image, truth, where) for where in (inside, ~inside)
            )
    return Reconstruction(
        problem=params.problem,
        shape=problem.shape,
        operators=problem.operators,
        operators_here=solver.operators_here,
        weights=weights,
        timing_only=weights == RANDOM,
        tiling=solver.grid.tiling(rank),
        backend=carrier if ranks > 1 else "",
        device=name_of(device),
        memory_total_bytes=memory_total_bytes(device),
        memory_peak_bytes=solved.peak_bytes,
        pss_bytes=solved.pss_bytes,
        setup_s=setup_s,
        iterations=solved.iterations,
        objective=solved.objective,
        objectives_s=solved.objectives_s,
        psnr_db=psnr,
        psnr_interior_db=psnr_interior,
        psnr_border_db=psnr_border,
        gate=solved.gate,
    )


def psnr_db(image: Image, truth: Image, where: npt.NDArray[np.bool_] | None = None) -> float | None:
    """Peak signal-to-noise ratio in dB, of pixels that count; None of equal images or of none."""
    squares = np.square(image.astype(np.float64) - truth).mean(axis=0)
    if where is not None:
        squares = squares[where]
    if not squares.size or not (mean := float(squares.mean())):
        return None
    # Images go from 0 to 1, so the peak is 1.
    return -10 * math.log10(mean)
