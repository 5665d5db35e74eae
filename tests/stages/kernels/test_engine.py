from functools import partial

import numpy as np
import pytest

from pyscale_stages.kernels import engine, particles
from pyscale_stages.kernels.params import COMBINATIONS
from pyscale_stages.kernels.slices import disc

STEPS = [
    *("load_particles", "put_particles_on_device", "fft", "project", "compare"),
    *("assign", "insert", "get_result"),
]


@pytest.mark.parametrize("how", COMBINATIONS, ids=lambda how: how.name)
def test_every_combination_finds_the_true_poses_and_rebuilds_the_object(done, clock, how):
    work, result = done(engine.prepare, how=how)
    judgement = work.judge(result)
    assert judgement.more["right_poses"] == 1
    assert judgement.more["correlation_with_truth"] > 0.99
    # With two threads steps overlap, and only the whole is timed.
    assert list(clock.steps) == (STEPS if how.threads == "single" else [])


@pytest.mark.parametrize("kernel", ["linear10", "linear20"])
def test_place_and_threads_do_not_change_the_result(done, kernel):
    alike = [
        how
        for how in COMBINATIONS
        if (how.kernel, how.assignment, how.symmetry) == (kernel, "max", "C1")
    ]
    volumes = [done(engine.prepare, how=how)[1].volume for how in alike]
    assert len(volumes) == 4
    assert all(np.allclose(volumes[0], volume, atol=1e-5) for volume in volumes)


@pytest.mark.parametrize(
    ("assignment", "symmetry", "times"), [("max", "C1", 1), ("marg", "C1", 1), ("max", "D7", 14)]
)
def test_a_particle_is_inserted_once_in_all_for_each_symmetric_orientation(
    done, assignment, symmetry, times
):
    def weight_of(*what):
        how = engine.Combination("memory", "single", "linear10", *what)
        return done(engine.prepare, how=how)[1].built.weight

    weight = weight_of(assignment, symmetry)
    assert float(weight.sum()) == pytest.approx(6 * len(disc(24)[0]) * times, rel=1e-3)
    if times > 1:
        # Fourteen orientations fill far more of the grid than one.
        assert (weight > 0).sum() > 2 * (weight_of("max", "C1") > 0).sum()


def test_wrong_poses_and_a_wrong_reconstruction_are_noticed(done):
    work, result = done(engine.prepare, how=COMBINATIONS[4])
    assert work.judge(result).right
    wrong = engine.Outcome((result.pose + 1) % 12, result.shift, result.built, result.volume)
    assert not work.judge(wrong).right
    result.built.real.mul_(-1)
    assert not work.judge(result).right


def test_particles_are_those_of_their_seed_in_memory_and_on_disk(make_bench, tmp_path):
    bench = make_bench()
    images = particles.simulate(bench.params, bench.rng("x"), "C1").images
    order = np.array([3, 0, 5])
    on_disk = particles.OnDisk(images, tmp_path)
    assert (on_disk.batch(order) == particles.InMemory(images).batch(order)).all()
    assert on_disk.before() is not None
    assert particles.InMemory(images).before() is None
    params = make_bench().params
    simulated = partial(particles.simulate, params, symmetry="C1")
    one, same, other = (simulated(make_bench(seed=seed).rng("p")).images for seed in (1, 1, 2))
    assert (one == same).all()
    assert not np.allclose(one, other)
