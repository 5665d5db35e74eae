"""One of two ranks that use the engine's context, as a process of its own, and how both ended.

Run as `python enginerank.py RANK MEETING`; prints what it saw as JSON.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from startedranks import run_together

RANKS = 2
SMALL = {
    "size_px": 32,
    "operators": 1,
    "channels": (4, 4, 8, 8),
    "blocks": 1,
    "tile_px": 16,
    "overlap_px": 8,
}


@cache
def both_ended():
    """Run two ranks, the second of which kills itself in an exchange; what each has printed."""
    with TemporaryDirectory() as folder:
        lines = [[__file__, rank, Path(folder) / "meeting"] for rank in range(RANKS)]
        ended = run_together(lines)
    return [json.loads(out) | {"err": err} for _, out, err in ended]


def main(rank, meeting):
    """Do what the tests ask about, print it, and lose the second rank."""
    from pyscale_stages.torchdevice import make_torchvision_importable

    make_torchvision_importable()
    import torch

    from pyscale_stages.errors import StageError
    from pyscale_stages.ranks.group import joined
    from pyscale_stages.reconstruct.context import TimedContext
    from pyscale_stages.reconstruct.iterate import Components

    torch.set_num_threads(1)
    seen = {}
    try:
        with joined(rank, RANKS, meeting) as group, torch.no_grad():
            context = TimedContext(group, torch.device("cpu"), Components(lambda: None))
            seen |= exchanges(context) | gate(context)
            with context.computing("gradient"):
                context.all_reduce(torch.ones(1))
                if rank == 1:
                    print(json.dumps(seen), flush=True)  # noqa: T201 - read by the test
                    os.kill(os.getpid(), signal.SIGKILL)
                # They have met in this component, and do not again.
                context.all_reduce(torch.ones(1))
    except StageError as error:
        print(json.dumps(seen | {"error": str(error)}))  # noqa: T201


def exchanges(context):
    """Sum by the engine's ways, outside components and in each."""
    import torch

    components = context.components
    meets = []
    meet = context.group.meet

    def counted():
        meets.append(components.current)
        meet()

    context.group.meet = counted
    with components.iteration():
        untimed = float(context.all_reduce(torch.ones(1)))
        before = dict(components.seconds)
        with context.computing("gradient"):
            context.broadcast(torch.ones(1))
            flags = context.all_gather(torch.full((1,), float(context.rank)))
            context.all_reduce(torch.ones(3))
        of_gradient = dict(components.seconds)
        with context.computing("denoiser"):
            context.all_reduce(torch.ones(3))
    context.group.meet = meet
    told = [f"of rank {context.rank}"]
    context.broadcast_object_list(told)
    return {
        "told": told,
        "untimed": untimed,
        "before": before,
        "of_gradient": of_gradient,
        "seconds": dict(components.seconds),
        "wall_s": components.wall_s,
        "meets": meets,
        "flags": flags.flatten().tolist(),
        "of_one": context.local_indices(1),
        "of_five": context.local_indices(5),
    }


def gate(context):
    """Compare with a denoiser for which the uncut image is too large, of real allocations."""
    import torch

    from pyscale_stages.reconstruct.denoiser import network_of
    from pyscale_stages.reconstruct.iterate import gate_of, solver_of
    from pyscale_stages.reconstruct.problems import problem_of
    from pyscale_stages.reconstruct.stage import ReconstructParams
    from pyscale_stages.reconstruct.tiles import grid_of

    params = ReconstructParams(**SMALL)
    problem = problem_of(params, seed=0)
    network = network_of(problem.shape, params, context.rank, context.device)
    grid = grid_of(problem.shape, params, RANKS)
    solver = solver_of(problem, network, params, grid, context)

    def hungry(_image, _sigma):
        return torch.empty(1 << 50)

    found = gate_of(replace(solver, network=hungry), params, seed=0)
    many = params.model_copy(update={"channels": (2**40, 1, 1, 1)})
    refused = gate_of(solver, many, seed=0)
    others = replace(
        solver,
        measurements=[None if each is None else each + 1 for each in solver.measurements],
        denoised=lambda given: given + 1,
    )
    differing = gate_of(others, params, seed=0)
    weights = float(sum(values.double().abs().sum() for values in network.state_dict().values()))
    return {
        "gate": None if found is None else found.model_dump(),
        "gate_of_many_channels": None if refused is None else refused.model_dump(),
        "gate_of_another_solver": None if differing is None else differing.model_dump(),
        "weights": weights,
        "operators_here": solver.operators_here,
        "step": solver.step,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
