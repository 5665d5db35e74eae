"""Iterations of one rank, which the engine runs without any others."""

import time
from dataclasses import replace

import pytest
import torch

from atleastone import some
from pyscale_stages.errors import StageError
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct.denoiser import network_of
from pyscale_stages.reconstruct.iterate import Components, timed_iterations, timed_objectives
from pyscale_stages.reconstruct.stage import ReconstructParams
from refusals import refused

ALONE = Group(0, 1)
CPU = torch.device("cpu")
SMALL = {
    "size_px": 64,
    "operators": 3,
    "channels": (4, 4, 8, 8),
    "blocks": 1,
    "tile_px": 32,
    "overlap_px": 16,
    "warmup_iterations": 2,
    "iterations": 3,
}


@pytest.fixture(autouse=True)
def _without_gradients_of_training():
    with torch.no_grad():
        yield


@pytest.fixture
def built(solver_alone):
    def build(**given):
        params = ReconstructParams(**(SMALL | given))
        return *solver_alone(params), params

    return build


def test_a_step_is_the_inverse_of_the_norm_of_all_operators(built):
    # Each blur leaves a uniform image as it is, and makes none larger.
    solver, _, params = built()
    assert solver.step == pytest.approx(1 / params.operators, rel=1e-4)
    assert solver.operators_here == params.operators


def test_steps_alone_come_nearer_to_the_measurements_of_a_tomography(built):
    solver, problem, params = built(problem="tomography_2d", angles=20)
    solver = replace(solver, denoised=lambda image: image)
    image, _ = timed_iterations(solver, ALONE, params)
    begun, done = (solver.objective(each) for each in (torch.zeros(1, *problem.shape), image))
    assert solver.objective(solver.iterate(image)) < done < 0.3 * begun


def test_the_gradient_is_that_of_the_objective(built):
    solver, problem, _ = built()
    random = torch.Generator().manual_seed(0)
    image, direction = (torch.rand(1, *problem.shape, generator=random) for _ in range(2))
    # The objective is a square, so that differences on both sides give its slope exactly.
    rise = solver.objective(image + direction) - solver.objective(image - direction)
    assert float((solver.gradient(image) * direction).sum()) == pytest.approx(rise / 2, rel=1e-3)


def test_iterations_after_warm_up_are_timed_in_all_their_components_and_objectives_apart(built):
    solver, problem, params = built()
    image, iterations = timed_iterations(solver, ALONE, params)
    assert len(iterations) == params.iterations
    expected = torch.zeros(1, *problem.shape)
    for _ in range(params.warmup_iterations + params.iterations):
        expected = solver.iterate(expected)
    assert torch.equal(image, expected)
    for each in iterations:
        assert min(each.gradient_s, each.denoiser_s) > 0
        assert each.communication_s == each.gather_s == each.barrier_s == 0
        assert each.rest_s >= 0
    objective, seconds = timed_objectives(solver, ALONE, image, 3)
    assert objective == solver.objective(image)
    assert len(seconds) == 3
    assert min(seconds) > 0


def test_ranks_meet_before_an_iteration_and_before_each_objective_after_the_last(built):
    solver, _, params = built()
    happened = []
    took_s = []

    class Fidelity:
        grad = solver.fidelity.grad

        def fn(self, *given):
            start = time.perf_counter()
            value = solver.fidelity.fn(*given)
            took_s.append(time.perf_counter() - start)
            happened.append("objective")
            return value

    class Meets(Group):
        def meet(self):
            happened.append("meeting")

    def denoised(image):
        happened.append("denoiser")
        return image

    watched = replace(solver, fidelity=Fidelity(), denoised=denoised)
    image, _ = timed_iterations(watched, Meets(0, 1), params)
    _, timed_s = timed_objectives(watched, Meets(0, 1), image, 2)
    number = params.warmup_iterations + params.iterations
    assert happened == ["meeting", "denoiser"] * number + ["meeting", "objective"] * 2
    assert all(timed >= took for timed, took in zip(timed_s, took_s, strict=True))


def test_no_meeting_is_in_what_an_iteration_or_an_objective_took(built):
    solver, _, params = built(warmup_iterations=1)
    begun_s = []
    ended_s = []

    class Meets(Group):
        def meet(self):
            begun_s.append(time.perf_counter())
            # Longer than what lies between an iteration's end and the next meeting.
            while time.perf_counter() < begun_s[-1] + 0.02:
                pass
            ended_s.append(time.perf_counter())

    image, iterations = timed_iterations(solver, Meets(0, 1), params)
    _, objectives_s = timed_objectives(solver, Meets(0, 1), image, 2)
    begun_s.append(time.perf_counter())
    took_s = [each.wall_s for each in iterations] + list(objectives_s)
    between_s = [after - before for before, after in zip(ended_s, begun_s[1:], strict=True)]
    assert all(took <= most for took, most in some(zip(took_s, between_s[1:], strict=True)))


@pytest.mark.parametrize("whole", [True, False])
def test_the_denoiser_is_told_the_noise_that_was_asked_for(built, whole):
    (solver, problem, params), (other, _, _) = (
        built(sigma=sigma, whole_at_one=whole) for sigma in (0.2, 0.05)
    )
    image = torch.rand(1, *problem.shape, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(solver.denoised(image), other.denoised(image))
    if whole:
        expected = network_of(problem.shape, params, 0, CPU)(image, 0.2)
        assert torch.equal(solver.denoised(image), expected)


def test_tiles_of_one_rank_are_put_together_to_an_image_like_the_uncut_one(built):
    whole, problem, _ = built()
    cut, _, _ = built(whole_at_one=False, tiles_at_once=3)
    image = torch.rand(1, *problem.shape, generator=torch.Generator().manual_seed(0))
    expected, found = whole.denoised(image), cut.denoised(image)
    inner = (..., slice(8, -8), slice(8, -8))
    assert not torch.equal(found, expected)
    assert float((found - expected)[inner].norm() / expected[inner].norm()) < 0.01


def test_iterations_that_diverge_end_with_what_to_do(built):
    solver, _, params = built()
    solver = replace(solver, denoised=lambda image: image * 1e30)
    image, _ = timed_iterations(solver, ALONE, params)
    with refused(StageError):
        timed_objectives(solver, ALONE, image, 1)


def passes(at_least_s=0.0):
    """Let the clock of this process advance, however fine it is."""
    start = time.perf_counter()
    while time.perf_counter() <= start + at_least_s:
        pass


def test_a_component_inside_another_pauses_it_and_nothing_falls_between():
    components = Components(passes)
    with components.iteration(), components.timed("gradient"):
        assert components.current == "gradient"
        begun = time.perf_counter()
        with components.timed("barrier"):
            # Longer than what lies between components: counted twice, it would show.
            passes(0.02)
        with components.timed("communication"):
            assert components.current == "communication"
        inside_s = time.perf_counter() - begun
        assert components.current == "gradient"
    assert components.current is None
    seconds = components.seconds
    assert all(seconds[name] > 0 for name in ("gradient", "barrier", "communication"))
    assert seconds["denoiser"] == seconds["gather"] == 0
    assert inside_s <= sum(seconds.values()) <= components.wall_s


def test_what_lies_between_components_is_the_iterations_and_in_none():
    components = Components(lambda: None)
    with components.iteration():
        with components.timed("gradient"):
            pass
        begun = time.perf_counter()
        passes()
        between_s = time.perf_counter() - begun
        with components.timed("denoiser"):
            pass
    assert sum(components.seconds.values()) <= components.wall_s - between_s


def test_an_iteration_forgets_the_last_one_and_a_component_that_fails_is_closed():
    components = Components(lambda: None)
    with components.iteration(), components.timed("gradient"):
        passes()
    with components.iteration():
        assert set(components.seconds.values()) == {0.0}
        with components.timed("denoiser"):
            passes()
    assert components.seconds["gradient"] == 0 < components.seconds["denoiser"]
    components = Components(lambda: None)
    with pytest.raises(ZeroDivisionError), components.iteration(), components.timed("gradient"):
        raise ZeroDivisionError
    assert components.current is None


def test_the_device_is_waited_for_on_both_sides_of_all_that_is_timed():
    waits = []
    components = Components(lambda: waits.append(components.current))
    with components.iteration(), components.timed("gradient"), components.timed("barrier"):
        pass
    # The wait at a begin is for what the outer component has given the device.
    assert waits == [None, None, "gradient", "barrier", "gradient", None]
