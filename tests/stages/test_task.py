"""What a stage tells its task."""

from __future__ import annotations

import math
import time

import pytest

from pyscale_stages.contract import TaskSpec
from pyscale_stages.errors import StageError
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.registry import load_stage
from pyscale_stages.task import Task


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_quality_that_is_no_number_fails_the_task_and_not_the_reading_of_its_record(value):
    stage = load_stage("contact")
    spec = TaskSpec(stage=stage.name, verb="check", inputs=())
    task = Task(stage, spec, stage.params(), SpanRecorder(time.monotonic()))
    with pytest.raises(StageError, match="contact measured a recall that is not a number"):
        task.set_quality(precision=1.0, recall=value)
    assert task.quality == {}
