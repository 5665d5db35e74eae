import shutil
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

import numpy as np
import pytest
import torch

from atleastone import some
from pyscale_stages.contract import TaskSpec
from pyscale_stages.hashing import sha256_of
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.movie import Movie
from pyscale_stages.segment import calls
from pyscale_stages.segment.labels import LABELS_FILE
from pyscale_stages.segment.models import Model
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.segment.parts import PARTS
from pyscale_stages.segment.stage import STAGE
from pyscale_stages.task import Task
from pyscale_stages.timing import Call


@pytest.fixture
def run(bench, frames):
    def run(**options):
        result = bench.run("run", frames, **{"frames": (0, 1), **options})
        assert result.error is None, result.error
        return result

    return run


def test_each_call_is_recorded_and_only_the_first_built_the_model(run):
    result = run(frames=(1, 3), calls=2, length_px=96)
    assert [call.frame for call in result.of(Call)] == [1, 1, 2, 2]
    assert [call.index for call in result.of(Call)] == [0, 1, 2, 3]
    assert {call.shape_yx for call in result.of(Call)} == {(96, 96)}
    assert [call.build_s is not None for call in result.of(Call)] == [True, False, False, False]
    assert result.counters.frames == 2
    assert result.counters.objects == sum(call.objects for call in result.of(Call)[1::2])


def test_the_parts_of_a_call_lie_within_it_and_a_cpu_holds_no_memory_of_an_accelerator(run):
    result = run()
    (call,) = result.of(Call)
    assert call.diameter_px is None
    assert tuple(call.parts) == tuple(part for part in PARTS if part != "diameter")
    assert call.wall_s / 2 < sum(call.parts.values()) <= call.wall_s
    assert result.counters.gpu_own_peak_bytes is None


@pytest.mark.slow
def test_frames_smaller_than_a_tile_are_told_once(run):
    (warning,) = run(frames=(0, 2), length_px=96).warnings
    assert warning.startswith("96 x 96 pixels are less than a tile of the network (224 x 224)")
    assert not run(frames=(0, 1), length_px=96, tile_px=128).warnings


@pytest.fixture
def own_weights(tmp_path):
    """The embedded network as weights of one's own, with a size model that always says 25 px."""
    weights = tmp_path / "net.pt"
    shutil.copy(embedded_model(EMBEDDED_MODEL), weights)
    constant = {"A": np.zeros(256), "smean": np.zeros(256), "ymean": 0.0, "diam_mean": 25.0}
    np.save(tmp_path / "net.pt_size.npy", constant, allow_pickle=True)
    return weights


@pytest.mark.slow
def test_an_estimate_of_the_diameter_is_one_part_of_the_call(run, own_weights):
    result = run(model=str(own_weights), estimate_diameter=True)
    (call,) = result.of(Call)
    assert tuple(call.parts) == PARTS
    assert call.parts["diameter"] > 0
    assert 10 < call.diameter_px < 40
    assert sum(call.parts.values()) <= call.wall_s
    size_weights = own_weights.with_name("net.pt_size.npy")
    assert result.versions["size_weights_sha256"] == sha256_of(size_weights)
    assert call.objects > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")
def test_on_a_gpu_the_calls_have_the_same_parts_and_hold_memory(run, tmp_path):
    on_cpu = run()
    cells_on_cpu = Movie.open(tmp_path / "out" / LABELS_FILE).read(0, 1, channel=0) > 0
    on_gpu = run(device="cuda", calls=2)
    cells_on_gpu = Movie.open(tmp_path / "out" / LABELS_FILE).read(0, 1, channel=0) > 0
    assert on_gpu.counters.gpu_own_peak_bytes
    for call in on_gpu.of(Call):
        assert tuple(call.parts) == tuple(on_cpu.of(Call)[0].parts)
        assert all(seconds > 0 for seconds in call.parts.values())
        assert sum(call.parts.values()) <= call.wall_s
    assert (cells_on_cpu == cells_on_gpu).mean() > 0.99


BUILD_S, CALL_S = 5.0, 7.0


class Gpu:
    """Work is given to it at once, and it takes its time; what torch holds of it goes down."""

    def __init__(self):
        self.now_s = 0.0
        self.left_s = 0.0
        self.held_bytes = [20, 30, 10]
        self.models = []

    def wait(self, *_device):
        self.now_s += self.left_s
        self.left_s = 0.0


class MadeUpModel:
    """Gives its work to the GPU and returns."""

    tile_px = 8
    trained_diameter_px = None
    estimated_diameter_px = None

    def __init__(self, gpu):
        gpu.left_s += BUILD_S
        self._gpu = gpu

    def segment(self, frame, _params, _limits):
        self._gpu.left_s += CALL_S
        return np.zeros(frame.shape, dtype=np.uint16)


class Built(NamedTuple):
    """A model as the stage knows one, by what it is built with."""

    name: str
    weights: Path
    size_weights: Path | None
    build: Callable[[object], MadeUpModel]


@pytest.fixture
def gpu(monkeypatch):
    gpu = Gpu()
    clock = SimpleNamespace(monotonic=lambda: gpu.now_s)
    monkeypatch.setattr(calls, "time", clock)
    monkeypatch.setattr(calls, "wait_for", gpu.wait)
    monkeypatch.setattr(calls, "held_bytes", lambda _device: gpu.held_bytes.pop(0))
    monkeypatch.setattr(calls, "prepared_device", lambda *_given, **_options: None)
    monkeypatch.setattr(calls, "sha256_of", lambda _path: "")
    return gpu


def segmented(gpu, **params):
    """The task after three calls on one frame; no two models may be there at once."""

    def build(_device):
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


def test_the_checksum_of_the_weights_is_no_part_of_loading_the_model(gpu, monkeypatch):
    monkeypatch.setattr(calls, "sha256_of", lambda _path: time.sleep(0.5) or "abc")
    task = segmented(gpu)
    assert task.versions["weights_sha256"] == "abc"
    loading = [span for span in task._recorder.spans if span.phase == "model_load"]
    assert sum(span.wall_s for span in some(loading)) < 0.4


def test_builds_and_calls_end_when_the_gpu_has_done_their_work_and_the_most_held_is_kept(gpu):
    task = segmented(gpu)
    assert [call.build_s for call in task.of(Call)] == [BUILD_S, None, None]
    assert [call.wall_s for call in task.of(Call)] == [CALL_S] * 3
    assert task.gpu_own_peak_bytes == 30
