import time

import pytest
import torch

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct.denoiser import network_of
from pyscale_stages.reconstruct.iterate import solver_of
from pyscale_stages.reconstruct.output import write_image
from pyscale_stages.reconstruct.problems import problem_of
from pyscale_stages.reconstruct.stage import STAGE, ReconstructParams
from pyscale_stages.reconstruct.tiles import grid_of
from pyscale_stages.task import Task
from pyscale_stages.torchdevice import make_torchvision_importable
from stagetasks import Bench

make_torchvision_importable()
SMALL = {"size_px": 32, "blocks": 1, "tile_px": 16, "overlap_px": 8}


@pytest.fixture
def solver_alone():
    """Build the solver of one rank, by the parameters' seed; with it the problem."""
    from pyscale_stages.reconstruct.context import TimedContext
    from pyscale_stages.reconstruct.iterate import Components

    def build(params, seed=0):
        cpu = torch.device("cpu")
        problem = problem_of(params, seed)
        context = TimedContext(Group(0, 1), cpu, Components(lambda: None))
        network = network_of(problem.shape, params, seed, cpu)
        grid = grid_of(problem.shape, params, ranks=1)
        return solver_of(problem, network, params, grid, context), problem

    return build


@pytest.fixture
def write_output(tmp_path):
    """Leave what a rank leaves; only the first has an image."""

    def write(name, image, rank=0, ranks=1, **params):
        spec = TaskSpec(stage="reconstruct", inputs=(), output=tmp_path / name)
        settings = ReconstructParams(**(SMALL | params))
        task = Task(STAGE, spec, settings, SpanRecorder(time.monotonic()))
        if image is not None:
            write_image(task, image)
        task.write_window((rank, rank + 1), ranks)
        return task.output

    return write


@pytest.fixture
def bench(tmp_path):
    return Bench("reconstruct", tmp_path, **SMALL)
