"""The gate: distributed equals serial."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

import enginerank
import startedranks
from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct import run
from pyscale_stages.reconstruct.device import memory_peak_bytes
from pyscale_stages.reconstruct.iterate import gate_of
from pyscale_stages.reconstruct.stage import STAGE, ReconstructParams
from pyscale_stages.reconstruct.tiles import interior_mask
from pyscale_stages.reconstruction import GRADIENT_TOLERANCE
from pyscale_stages.task import Task

SEED = 0
SMALL = {**startedranks.SMALL, "operators": 3, "iterations": 1}


@pytest.fixture(autouse=True)
def _without_gradients_of_training():
    with torch.no_grad():
        yield


@pytest.fixture
def share(tmp_path):
    """Give what the first of two ranks has, whose share is all operators and half the tiles."""

    def of(**given):
        params = ReconstructParams(**(SMALL | given))
        spec = TaskSpec(stage="reconstruct", inputs=(), output=tmp_path / "rank", seed=SEED)
        task = Task(STAGE, spec, params, SpanRecorder(time.monotonic()))
        alone = Group(0, 1)
        solver, *_ = run._ready(task, params, alone, "here")
        solver.context.world_size = 2
        return task, params, solver

    return of


def judged(share, **others):
    """What the gate finds where something in the solver is another."""
    _, params, solver = share
    gate = gate_of(replace(solver, **others), params, SEED)
    assert gate is not None
    return gate


@pytest.mark.parametrize("where", ["interior", "border"])
@pytest.mark.parametrize("change", [1.0, -1.0])
def test_one_pixel_that_differs_is_found_where_it_is(share, where, change):
    ours = share()
    _, params, solver = ours
    inside = interior_mask(solver.problem.shape, params)
    y, x = np.argwhere(inside if where == "interior" else ~inside)[0]
    shown = []

    def denoised(image):
        shown.append(solver.network(image, params.sigma))
        found = shown[0].clone()
        found[0, 1, y, x] += change
        return found

    gate = judged(ours, denoised=denoised)
    expected = {"interior": 0.0, "border": 0.0} | {where: 1 / float(shown[0].abs().max())}
    assert gate.denoiser_interior == pytest.approx(expected["interior"])
    assert gate.denoiser_border == pytest.approx(expected["border"])
    assert gate.interior_px == inside.sum()


def test_one_measured_value_of_one_operator_that_differs_is_found(share):
    ours = share()
    solver = ours[2]
    problem = solver.problem
    last = problem.operators - 1
    changed = list(solver.measurements)
    more = torch.zeros_like(problem.image)
    more[0, 0, 40, 40] = 1
    changed[last] = problem.measurement(last, "cpu") + more
    noise = torch.rand(problem.image.shape, generator=torch.Generator().manual_seed(SEED))
    found = judged(ours, measurements=changed).gradient
    largest = problem.operator(last, "cpu").A_adjoint(more).abs().max()
    assert found == pytest.approx(float(largest / solver.gradient(noise).abs().max()), rel=1e-3)


def test_tiles_of_a_rank_that_give_nothing_are_found(share):
    gate = judged(share())
    assert gate.gradient <= GRADIENT_TOLERANCE
    assert gate.denoiser_interior > 0.1


@pytest.mark.parametrize("asked", [True, False])
def test_ranks_are_compared_where_that_is_asked_for_after_all_timing(share, monkeypatch, asked):
    task, params, solver = share(gate=asked)
    happened = []
    objective = solver.fidelity.fn

    def told(event, call):
        def told_and_done(*given):
            happened.append(event)
            return call(*given)

        return told_and_done

    monkeypatch.setattr(run, "memory_peak_bytes", told("memory", memory_peak_bytes))
    monkeypatch.setattr(solver.fidelity, "fn", told("objective", objective))
    watched = replace(solver, network=told("whole image", solver.network))
    solved = run._solved(task, params, Group(0, 1), watched)
    assert (solved.gate is not None) == asked
    assert happened == ["objective", "memory", *["whole image"] * asked]
    solved = solved._replace(peak_bytes=1)
    record = run._record(task, params, solver, solved, weights="random", setup_s=1.0)
    assert (record.memory_peak_bytes, record.gate) == (1, solved.gate)


@pytest.mark.slow
def test_real_ranks_tell_what_they_cannot_compare_and_what_differs():
    first, second = enginerank.both_ended()
    gate = first["gate"]
    assert (
        "one rank alone has too little memory for the uncut image (memory ran out"
        in gate["why_not"]
    )
    assert (gate["denoiser_interior"], gate["denoiser_border"]) == (None, None)
    assert gate["gradient"] < GRADIENT_TOLERANCE
    assert gate["interior_px"] == 0
    assert "tiles of 16 px with a margin of 8 px are too small" in gate["why_not"]
    assert second["gate"] is None, "the first alone compares"
    gate = enginerank.both_ended()[0]["gate_of_many_channels"]
    assert "too little memory for the uncut image (about " in gate["why_not"]
    assert " GiB are left)" in gate["why_not"]
    gate = enginerank.both_ended()[0]["gate_of_another_solver"]
    assert gate["gradient"] > 0.01
    assert gate["denoiser_border"] > 0.01
