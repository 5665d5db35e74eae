"""Outputs of the stage, without computing them."""

import time

import pytest

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.reconstruct.output import write_image
from pyscale_stages.reconstruct.params import ReconstructParams
from pyscale_stages.reconstruct.stage import STAGE
from pyscale_stages.task import Task
from stagetasks import Bench

SMALL = {"size_px": 32, "blocks": 1, "tile_px": 16, "overlap_px": 8}


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
    """The stage."""
    return Bench("reconstruct", tmp_path, **SMALL)
