"""Calls of the model: how many, on what, and what each took."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from pyscale_stages.contract import TaskResult
from pyscale_stages.hashing import sha256_of
from pyscale_stages.movie import Movie
from pyscale_stages.resources import embedded_model
from pyscale_stages.segment.labels import LABELS_FILE
from pyscale_stages.segment.params import EMBEDDED_MODEL
from pyscale_stages.segment.parts import PARTS
from stagetasks import Bench

Run = Callable[..., TaskResult]


@pytest.fixture
def run(bench: Bench, frames: Path) -> Run:
    """Segment frames of the movie; give the task's record."""

    def run(**options: object) -> TaskResult:
        result = bench.run("run", frames, **{"frames": (0, 1), **options})
        assert result.error is None, result.error
        return result

    return run


def test_each_call_is_recorded_and_only_the_first_built_the_model(run):
    result = run(frames=(1, 3), calls=2, length_px=96)
    assert [call.frame for call in result.calls] == [1, 1, 2, 2]
    assert [call.index for call in result.calls] == [0, 1, 2, 3]
    assert {call.shape_yx for call in result.calls} == {(96, 96)}
    assert [call.build_s is not None for call in result.calls] == [True, False, False, False]
    assert result.counters.frames == 2
    assert result.counters.objects == sum(call.objects for call in result.calls[1::2])


def test_the_parts_of_a_call_lie_within_it(run):
    (call,) = run().calls
    assert call.diameter_px is None
    assert tuple(call.parts) == tuple(part for part in PARTS if part != "diameter")
    assert call.wall_s / 2 < sum(call.parts.values()) <= call.wall_s


@pytest.mark.slow
def test_calls_and_builds_lie_in_spans_of_their_own(run):
    result = run(calls=2, build_each_call=True)
    assert all(call.build_s is not None for call in result.calls)
    spans = [span for span in result.spans if span.phase != "python_start"]
    inner = [span for span in spans if span.phase in {"model_load", "compute"}]
    assert [span.phase for span in inner] == ["model_load", "compute"] * 2
    assert all(
        first.end_monotonic_s <= second.start_monotonic_s for first, second in pairwise(spans)
    )
    for build, compute, call in zip(inner[::2], inner[1::2], result.calls, strict=True):
        assert call.build_s is not None
        assert call.build_s <= build.wall_s
        assert call.wall_s <= compute.wall_s


@pytest.mark.slow
def test_more_calls_leave_the_labels_of_one(run, tmp_path):
    once = run().outputs
    assert run(calls=2, build_each_call=True).outputs[0] == once[0]


@pytest.mark.slow
def test_frames_smaller_than_a_tile_are_told_once(run):
    (warning,) = run(frames=(0, 2), length_px=96).warnings
    assert warning.startswith("96 x 96 pixels are less than a tile of the network (224 x 224)")


@pytest.fixture
def own_weights(tmp_path: Path) -> Path:
    """The embedded network as weights of one's own, with a size model that always says 25 px."""
    weights = tmp_path / "net.pt"
    shutil.copy(embedded_model(EMBEDDED_MODEL), weights)
    constant = {"A": np.zeros(256), "smean": np.zeros(256), "ymean": 0.0, "diam_mean": 25.0}
    np.save(tmp_path / "net.pt_size.npy", constant, allow_pickle=True)  # type: ignore[arg-type]
    return weights


@pytest.mark.slow
def test_an_estimate_of_the_diameter_is_one_part_of_the_call(run, own_weights):
    result = run(model=str(own_weights), estimate_diameter=True)
    (call,) = result.calls
    assert tuple(call.parts) == PARTS
    assert call.parts["diameter"] > 0
    assert call.diameter_px is not None
    assert 10 < call.diameter_px < 40
    assert sum(call.parts.values()) <= call.wall_s
    size_weights = own_weights.with_name("net.pt_size.npy")
    assert result.versions["size_weights_sha256"] == sha256_of(size_weights)
    assert call.objects > 0


def test_on_a_cpu_no_memory_of_an_accelerator_is_held(run):
    assert run(length_px=64).counters.gpu_own_peak_bytes is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")
def test_on_a_gpu_the_calls_have_the_same_parts_and_hold_memory(run, tmp_path):
    on_cpu = run()
    cells_on_cpu = Movie.open(tmp_path / "out" / LABELS_FILE).read(0, 1, channel=0) > 0
    on_gpu = run(device="cuda", calls=2)
    cells_on_gpu = Movie.open(tmp_path / "out" / LABELS_FILE).read(0, 1, channel=0) > 0
    assert on_gpu.counters.gpu_own_peak_bytes
    for call in on_gpu.calls:
        assert tuple(call.parts) == tuple(on_cpu.calls[0].parts)
        assert all(seconds > 0 for seconds in call.parts.values())
        assert sum(call.parts.values()) <= call.wall_s
    assert (cells_on_cpu == cells_on_gpu).mean() > 0.99
