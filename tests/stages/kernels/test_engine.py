from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from pyscale_stages.kernels import engine, particles
from pyscale_stages.kernels.engine import Assignment
from pyscale_stages.kernels.params import COMBINATIONS
from pyscale_stages.kernels.slices import disc
from pyscale_stages.kernels.work import Bench, StepClock

OF_THE_ANCESTOR = {
    *("disk_single_linear10_max_C1", "disk_single_linear20_max_C1"),
    *("disk_multi_linear10_max_C1", "disk_multi_linear20_max_C1"),
    *("memory_single_linear10_max_C1", "memory_single_linear10_marg_C1"),
    *("memory_single_linear10_max_D7", "memory_single_linear20_max_C1"),
    *("memory_single_linear20_marg_C1", "memory_multi_linear10_max_C1"),
    *("memory_multi_linear10_marg_C1", "memory_multi_linear10_max_D7"),
    *("memory_multi_linear20_max_C1", "memory_multi_linear20_marg_C1"),
}
STEPS = [
    *("load_particles", "put_particles_on_device", "fft", "project", "compare"),
    *("assign", "insert", "get_result"),
]


def test_the_combinations_are_the_ancestors() -> None:
    assert len(COMBINATIONS) == 14
    assert {how.name for how in COMBINATIONS} == OF_THE_ANCESTOR


@pytest.mark.parametrize("how", COMBINATIONS, ids=lambda how: how.name)
def test_every_combination_finds_the_true_poses_and_rebuilds_the_object(
    make_bench, clock: StepClock, how: engine.Combination
) -> None:
    work = engine.prepare(make_bench(), how=how)
    judgement = work.judge(work.once(clock))
    assert judgement.more["right_poses"] == 1
    assert judgement.more["correlation_with_truth"] > 0.99
    # With two threads steps overlap, and only the whole is timed.
    assert list(clock.steps) == (STEPS if how.threads == "single" else [])


@pytest.mark.parametrize("kernel", ["linear10", "linear20"])
def test_place_and_threads_do_not_change_the_result(
    make_bench, clock: StepClock, kernel: str
) -> None:
    alike = [
        how
        for how in COMBINATIONS
        if (how.kernel, how.assignment, how.symmetry) == (kernel, "max", "C1")
    ]
    volumes = [engine.prepare(make_bench(), how=how).once(clock).volume for how in alike]
    assert len(volumes) == 4
    assert all(np.allclose(volumes[0], volume, atol=1e-5) for volume in volumes)


@pytest.mark.parametrize(
    ("assignment", "symmetry", "times"), [("max", "C1", 1), ("marg", "C1", 1), ("max", "D7", 14)]
)
def test_a_particle_is_inserted_once_in_all_for_each_symmetric_orientation(
    make_bench, clock: StepClock, assignment: Assignment, symmetry: Literal["C1", "D7"], times: int
) -> None:
    how = engine.Combination("memory", "single", "linear10", assignment, symmetry)
    built = engine.prepare(make_bench(), how=how).once(clock).built
    n_coefficients = len(disc(24)[0])
    assert float(built.weight.sum()) == pytest.approx(6 * n_coefficients * times, rel=1e-3)
    if times > 1:
        # Fourteen orientations fill far more of the grid than one.
        alone = engine.prepare(
            make_bench(), how=engine.Combination("memory", "single", "linear10", "max", "C1")
        )
        filled = (built.weight > 0).sum()
        assert filled > 2 * (alone.once(clock).built.weight > 0).sum()


def test_wrong_poses_and_a_wrong_reconstruction_are_noticed(make_bench, clock: StepClock) -> None:
    bench: Bench = make_bench()
    work = engine.prepare(bench, how=COMBINATIONS[4])
    result = work.once(clock)
    assert work.judge(result).right
    wrong = engine.Outcome((result.pose + 1) % 12, result.shift, result.built, result.volume)
    assert not work.judge(wrong).right
    result.built.real.mul_(-1)
    assert not work.judge(result).right


def test_a_pose_that_cannot_be_told_from_the_true_one_is_right(
    make_bench, clock: StepClock
) -> None:
    """In so small a box seven-fold views that differ by a turn about the axis look alike."""
    how = engine.Combination("memory", "single", "linear10", "max", "D7")
    bench = make_bench(particle_px=16, particles=8, poses=64)
    work = engine.prepare(bench, how=how)
    result = work.once(clock)
    made = particles.simulate(bench.params, bench.rng("particles_D7"), "D7")
    order = bench.rng("order").permutation(bench.params.particles)
    assert (result.pose != made.pose[order]).any()
    assert work.judge(result).more["right_poses"] == 1
    other_shift = engine.Outcome(result.pose, (result.shift + 1) % 5, result.built, result.volume)
    assert work.judge(other_shift).more["right_poses"] == 0


def test_reading_ahead_gives_every_batch_once_and_in_order() -> None:
    with engine.ThreadPoolExecutor(max_workers=1) as reader:
        batches = engine.read_ahead(
            reader, lambda part, _clock: part, [1, 2, 3], StepClock(lambda: None, own_memory=False)
        )
        assert list(batches) == [1, 2, 3]


def test_particles_from_disk_are_those_in_memory(make_bench, tmp_path: Path) -> None:
    bench: Bench = make_bench()
    images = particles.simulate(bench.params, bench.rng("x"), "C1").images
    order = np.array([3, 0, 5])
    on_disk = particles.OnDisk(images, tmp_path)
    assert (on_disk.batch(order) == particles.InMemory(images).batch(order)).all()
    assert on_disk.before() is not None
    assert particles.InMemory(images).before() is None


def test_the_same_seed_gives_the_same_particles_and_another_seed_others(make_bench) -> None:
    params = make_bench().params
    simulated = partial(particles.simulate, params, symmetry="C1")
    one, same, other = (simulated(make_bench(seed=seed).rng("p")).images for seed in (1, 1, 2))
    assert (one == same).all()
    assert not np.allclose(one, other)
