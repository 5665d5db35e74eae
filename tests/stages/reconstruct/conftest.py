"""Outputs of the stage, without computing them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.reconstruct.output import Image, write_image
from pyscale_stages.reconstruct.params import ReconstructParams
from pyscale_stages.reconstruct.stage import STAGE
from pyscale_stages.task import Task
from stagetasks import Bench

SMALL: dict[str, Any] = {"size_px": 32, "blocks": 1, "tile_px": 16, "overlap_px": 8}

WriteOutput = Callable[..., Path]


@pytest.fixture
def write_output(tmp_path: Path) -> WriteOutput:
    """Leave what a rank leaves; only the first has an image."""

    def write(name: str, image: Image | None, rank: int = 0, ranks: int = 1, **params: Any) -> Path:
        spec = TaskSpec(stage="reconstruct", inputs=(), output=tmp_path / name)
        settings = ReconstructParams(**(SMALL | params))
        task = Task(STAGE, spec, settings, SpanRecorder(time.monotonic()))
        if image is not None:
            write_image(task, image)
        task.write_window((rank, rank + 1), ranks)
        return task.output

    return write


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The stage."""
    return Bench("reconstruct", tmp_path, **SMALL)
