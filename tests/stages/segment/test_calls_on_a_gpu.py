"""Calls on a device that answers before it has finished, as a GPU does: made up, with a clock."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.movie import Pixels
from pyscale_stages.segment import calls, device, parts
from pyscale_stages.segment.models import Labels, Limits, Model
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.segment.stage import STAGE
from pyscale_stages.task import Task

BUILD_S, CALL_S = 5.0, 7.0


class Gpu:
    """Work is given to it at once, and it takes its time; what torch holds of it goes down."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.left_s = 0.0
        self.held_bytes = [20, 30, 10]
        self.models: list[weakref.ref[MadeUpModel]] = []

    def wait(self, *_device: object) -> None:
        self.now_s += self.left_s
        self.left_s = 0.0


class MadeUpModel:
    """Gives its work to the GPU and returns."""

    tile_px = 8
    trained_diameter_px = None
    estimated_diameter_px = None

    def __init__(self, gpu: Gpu) -> None:
        gpu.left_s += BUILD_S
        self._gpu = gpu

    def segment(self, frame: Pixels, _params: SegmentParams, _limits: Limits | None) -> Labels:
        self._gpu.left_s += CALL_S
        return np.zeros(frame.shape, dtype=np.uint16)


class Built(NamedTuple):
    """A model as the stage knows one, by what it is built with."""

    name: str
    weights: Path
    size_weights: Path | None
    build: Callable[[object], MadeUpModel]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()
    clock = SimpleNamespace(monotonic=lambda: gpu.now_s)
    for module in (calls, parts):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(calls, "wait_for", gpu.wait)
    monkeypatch.setattr(calls, "held_bytes", lambda _device: gpu.held_bytes.pop(0))
    monkeypatch.setattr(device, "prepare", lambda *_given, **_options: None)
    monkeypatch.setattr(calls, "sha256_of", lambda _path: "")
    return gpu


def segmented(gpu: Gpu, **params: Any) -> Task:
    """The task after three calls on one frame; no two models may be there at once."""

    def build(_device: object) -> MadeUpModel:
        assert all(model() is None for model in gpu.models), "two networks in memory"
        model = MadeUpModel(gpu)
        gpu.models.append(weakref.ref(model))
        return model

    given = SegmentParams(calls=3, **params)
    spec = TaskSpec(stage="segment", inputs=(), output=None, device="cuda")
    task = Task(STAGE, spec, given, SpanRecorder(time.monotonic()))
    model = Built("made up", Path("net.pt"), None, build)
    calls.ModelCalls(task, given, cast(Model, model)).segment(np.zeros((8, 8)), 0)
    return task


def test_a_call_ends_when_the_gpu_has_done_what_the_call_gave_it(gpu):
    assert [call.wall_s for call in segmented(gpu).calls] == [CALL_S] * 3


def test_building_ends_when_the_weights_are_on_the_gpu(gpu):
    built = [call.build_s for call in segmented(gpu).calls]
    assert built == [BUILD_S, None, None]


def test_a_model_that_is_built_anew_replaces_the_one_before(gpu):
    task = segmented(gpu, build_each_call=True)
    assert [call.build_s for call in task.calls] == [BUILD_S] * 3
    assert len(gpu.models) == 3


def test_the_most_that_torch_held_in_any_call_is_kept(gpu):
    assert segmented(gpu).gpu_own_peak_bytes == 30
