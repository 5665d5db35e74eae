"""Tasks of stages that run in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyscale_stages.contract import TaskResult, TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.registry import load_stage
from pyscale_stages.runner import run_task


def run_verb(
    stage: str, verb: str, inputs: Iterable[tuple[str, Path]] = (), **spec: Any
) -> TaskResult:
    """Run a verb of a stage on inputs by their slots; `spec`: further fields of the order."""
    order = TaskSpec(stage=stage, verb=verb, inputs=tuple(inputs), **spec)  # type: ignore[arg-type]
    return run_task(load_stage(stage), order, SpanRecorder(time.monotonic()), None)
