"""Claim: timing components costs at most 2 % of an iteration of two ranks, 1 % of one rank's.

The same iterations of one problem are run in the same processes by DeepInverse as its users write
them, of which only the whole loop is timed; by the stage's solver, each component timed, and the
whole loop with it; and by the stage's own loop, as it is reported. Blocks of these take turns, in
alternating order, and must give the same image. What timing does is also run with nothing in it,
which tells its cost where a busy machine hides it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from paired import seconds
from pyscale.analysis.intervals import ratio_interval
from pyscale_stages.ranks.group import Group, joined
from pyscale_stages.reconstruct.denoiser import network_of
from pyscale_stages.reconstruct.device import prepared
from pyscale_stages.reconstruct.iterate import Components, Solver, solver_of, timed_iterations
from pyscale_stages.reconstruct.problems import Problem, problem_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import grid_of
from pyscale_stages.reconstruction import COMPONENTS, Component
from pyscale_stages.torchdevice import make_torchvision_importable, wait_for

BARS = {1: 0.01, 2: 0.02}
"""Largest cost of timing, as a share of an iteration, by the number of ranks."""
SAME_IMAGE = 1e-6
"""Largest difference of two images, as a share of the largest value."""
ITERATIONS = 5
"""Timed in a block, after one that is not."""
BLOCKS = 30
ALONE_REPEATS = 2000
PATIENCE_S = 900.0
PARAMS = ReconstructParams(
    size_px=256,
    channels=(16, 32, 64, 64),
    blocks=1,
    tile_px=128,
    overlap_px=16,
    whole_at_one=False,
    warmup_iterations=1,
    iterations=ITERATIONS,
)

Iterate = Callable[[torch.Tensor], torch.Tensor]
Block = tuple[dict[str, float], torch.Tensor]
"""Seconds of all iterations and of timed components; and the image."""


class Noted(Components):
    """A clock that remembers which components it has timed."""

    entered: tuple[str, ...] = ()

    def timed(self, part: str) -> AbstractContextManager[None]:
        """Begin a component."""
        self.entered += (part,)
        return super().timed(part)


def main() -> int:
    """Compare on one rank and on two; fail where a bar is missed or images differ."""
    print(
        f"{os.cpu_count()} cores, of which others keep {os.getloadavg()[0]:.1f} busy; {BLOCKS} "
        f"blocks of {ITERATIONS} iterations of each; seconds of the slowest rank, 1 thread each"
    )
    return int(sum(report(count, measured(count)) for count in BARS) < len(BARS))


def measured(count: int) -> dict[str, Any]:
    """Start so many ranks, and return what the first one has printed."""
    with ExitStack() as ends:
        folder = ends.enter_context(TemporaryDirectory())
        line = [sys.executable, __file__, str(count), f"{folder}/meeting"]
        processes = []
        for rank in range(count):
            processes.append(subprocess.Popen([*line, str(rank)], stdout=subprocess.PIPE))
            ends.callback(processes[-1].kill)
        printed = [process.communicate(timeout=PATIENCE_S)[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"a rank of {count} failed")
    return dict(json.loads(printed[0]))


def report(count: int, found: dict[str, Any]) -> bool:
    """Print what was measured; the bar is missed where the whole interval lies beyond it."""
    plain, timed, staged = found["plain"], found["timed"], found["staged"]
    print(f"\n{count} gloo rank{'s' * (count > 1)}")
    names = ("DeepInverse, only the loop timed", "each component timed", "as the stage reports it")
    for name, arm in zip(names, (plain, timed, staged), strict=True):
        median, low, high = (of(arm["wall"]) for of in (statistics.median, min, max))
        print(f"  {name:<39} median {median:7.2f} ms an iteration   [{low:.2f}, {high:.2f}]")
    least = compared("components timed / not timed", timed["wall"], plain["wall"])
    compared("as the stage reports it / not timed", staged["wall"], plain["wall"])
    alone, barriers = (found[name] / min(plain["wall"]) for name in ("timing", "barriers"))
    print(f"  timing with nothing in it  {found['timing']:.3f} ms an iteration, {alone:.3%} of one")
    print(f"  its barriers alone         {found['barriers']:.3f} ms an iteration, {barriers:.3%}")
    print(f"  barriers in iterations     {statistics.median(timed['barrier']):.3f} ms, with waits")
    print(f"  bar of timing              {BARS[count]:.0%} of an iteration")
    print(f"  images differ by {found['deviation']:.1e} of the largest   bar {SAME_IMAGE:.0e}")
    return bool(found["deviation"] <= SAME_IMAGE and max(least - 1, alone) <= BARS[count])


def compared(name: str, first: Sequence[float], second: Sequence[float]) -> float:
    """Print the ratio of two medians with its interval, whose lower end is returned."""
    interval = ratio_interval(first, second, paired=True)
    assert interval is not None
    ratio = statistics.median(first) / statistics.median(second)
    print(f"  {name:<39} ratio {ratio:8.4f}   [{interval.low:.4f}, {interval.high:.4f}]")
    return interval.low


def rank_main(count: int, meeting: Path, number: int) -> None:
    """Be one rank: run all blocks, and print what the slowest rank took."""
    make_torchvision_importable()
    from pyscale_stages.reconstruct.context import TimedContext

    with joined(number, count, meeting) as group, torch.no_grad():
        device = prepared("cpu", number, threads=1)
        problem = problem_of(PARAMS, seed=0)
        network = network_of(problem.shape, PARAMS, 0, device)
        context = TimedContext(group, device, Components(partial(wait_for, device)))
        grid = grid_of(problem.shape, PARAMS, count)
        solver = solver_of(problem, network, PARAMS, grid, context)
        plain = as_users_write_it(problem, network, solver.step)
        found = interleaved(solver, plain, group) | nothing_timed(solver, group)
    if number == 0:
        print(json.dumps(found))


def as_users_write_it(problem: Problem, network: torch.nn.Module, step: float) -> Iterate:
    """One iteration by DeepInverse alone; its context joins the ranks that have met."""
    from deepinv.distributed import DistributedContext, distribute
    from deepinv.optim.data_fidelity import L2
    from deepinv.physics import StackedLinearPhysics

    with DistributedContext(device_mode="cpu") as context:
        every = range(problem.operators)
        stack = StackedLinearPhysics([problem.operator(index, context.device) for index in every])
        physics = distribute(stack, context)
        data_fidelity = distribute(L2(), context)
        denoiser = distribute(
            network,
            context,
            patch_size=PARAMS.tile_px,
            overlap=PARAMS.overlap_px,
            tiling_dims=problem.tiling_dims,
            max_batch_size=PARAMS.tiles_at_once,
        )
    measurements = [problem.measurement(index, context.device) for index in every]

    def iterate(image: torch.Tensor) -> Any:
        image = image - step * data_fidelity.grad(image, measurements, physics)
        return denoiser(image, PARAMS.sigma)

    return iterate


def interleaved(solver: Solver, plain: Iterate, group: Group) -> dict[str, Any]:
    """Run blocks of all arms in turn, after one of each that is not counted."""
    components = solver.context.components
    parts: list[dict[Component, float]] = []

    def looped(iterate: Iterate) -> Block:
        parts.clear()
        group.meet()
        image = iterate(torch.zeros((1, *solver.problem.shape)))
        start = time.perf_counter()
        for _ in range(ITERATIONS):
            image = iterate(image)
        took = {"wall": time.perf_counter() - start}
        return took | {name: sum(each[name] for each in parts[1:]) for name in COMPONENTS}, image

    def timed(image: torch.Tensor) -> torch.Tensor:
        group.meet()
        with components.iteration():
            image = solver.iterate(image)
        parts.append(components.seconds)
        return image

    def staged() -> Block:
        image, iterations = timed_iterations(solver, group, PARAMS)
        names = ("wall", *COMPONENTS)
        took = {name: sum(getattr(each, f"{name}_s") for each in iterations) for name in names}
        return took, image

    arms = {"plain": lambda: looped(plain), "timed": lambda: looped(timed), "staged": staged}
    found: dict[str, Any] = {name: defaultdict(list) for name in arms}
    deviations = []
    for block in range(1 + BLOCKS):
        images = {}
        for name in arms if block % 2 else reversed(arms):
            took, images[name] = arms[name]()
            every = group.all_gather(took)
            for part in took if block else ():
                slowest_s = max(each[part] for each in every)
                found[name][part].append(1000 * slowest_s / ITERATIONS)
        expected = images["plain"]
        differ = torch.stack(list(images.values())) - expected
        deviations.append(differ.abs().max() / expected.abs().max())
    return found | {"deviation": float(torch.stack(deviations).max())}


def nothing_timed(solver: Solver, group: Group) -> dict[str, float]:
    """Milliseconds of an iteration's timing with nothing in it, and of its barriers alone."""
    components = Noted(solver.context.components.wait)
    solver.context.components = components
    with components.iteration():
        solver.iterate(torch.zeros((1, *solver.problem.shape)))
    entered = components.entered

    def timing() -> None:
        components.entered = ()
        with components.iteration():
            for name in entered:
                with components.timed(name), group.heard():
                    if name == "barrier":
                        group.meet()

    timing_s = statistics.median(seconds(timing) for _ in range(ALONE_REPEATS))
    meet_s = statistics.median(seconds(group.meet) for _ in range(ALONE_REPEATS))
    return {"timing": 1000 * timing_s, "barriers": 1000 * meet_s * entered.count("barrier")}


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(main())
    rank_main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
