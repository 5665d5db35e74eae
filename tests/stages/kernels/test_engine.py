from functools import partial

import numpy as np
import pytest
import torch
from scipy import ndimage
from scipy.spatial.transform import Rotation
from scipy.special import logsumexp

from atleastone import some
from pyscale_stages.kernels import engine, particles
from pyscale_stages.kernels.stage import COMBINATIONS

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
    assert float(weight.sum()) == pytest.approx(6 * len(engine.disc(24)[0]) * times, rel=1e-3)
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


def test_a_pose_that_cannot_be_told_from_the_true_one_is_right(make_bench, done):
    """In so small a box seven-fold views that differ by a turn about the axis look alike."""
    how = engine.Combination("memory", "single", "linear10", "max", "D7")
    bench = make_bench(particle_px=16, particles=8, poses=64)
    work, result = done(engine.prepare, bench=bench, how=how)
    made = particles.simulate(bench.params, bench.rng("particles_D7"), "D7")
    order = bench.rng("order").permutation(bench.params.particles)
    assert (result.pose != made.pose[order]).any()
    assert work.judge(result).more["right_poses"] == 1
    other_shift = engine.Outcome(result.pose, (result.shift + 1) % 5, result.built, result.volume)
    assert work.judge(other_shift).more["right_poses"] == 0


def test_particles_are_those_of_their_seed_in_memory_and_on_disk(make_bench, tmp_path):
    bench = make_bench()
    images = particles.simulate(bench.params, bench.rng("x"), "C1").images
    order = np.array([3, 0, 5])
    on_disk = particles.OnDisk(images, tmp_path)
    assert (on_disk.batch(order) == images[order]).all()
    assert on_disk.before() is not None
    params = make_bench().params
    simulated = partial(particles.simulate, params, symmetry="C1")
    one, same, other = (simulated(make_bench(seed=seed).rng("p")).images for seed in (1, 1, 2))
    assert (one == same).all()
    assert not np.allclose(one, other)


def test_scores_are_log_likelihoods_up_to_a_constant():
    rng = np.random.default_rng(0)
    images, references = (
        (rng.standard_normal((n, 30)) + 1j * rng.standard_normal((n, 30))).astype(np.complex64)
        for n in (3, 5)
    )
    got = engine.log_likelihoods(
        torch.from_numpy(images), torch.from_numpy(references), 2.5
    ).numpy()
    squares = np.sum(np.abs(images[:, None] - references) ** 2, axis=-1)
    expected = -squares / (2 * 2.5)
    difference = got - expected
    assert np.ptp(difference, axis=1).max() < 1e-4


def test_maximisation_takes_one_pose_and_marginalisation_the_best_by_their_posterior_shares():
    scores = torch.zeros((2, 3, 4))
    scores[0, 1, 2] = scores[1, 2, 0] = 1.0
    chosen = engine.assign(scores, "max", 3)
    assert chosen.pose.tolist() == [[2], [0]]
    assert chosen.shift.tolist() == [[1], [2]]
    assert chosen.share.tolist() == [[1], [1]]
    scores = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    chosen = engine.assign(torch.from_numpy(scores), "marg", 12)
    expected = np.exp(scores - logsumexp(scores, axis=(1, 2), keepdims=True))
    for particle in range(2):
        at = chosen.shift[particle].numpy(), chosen.pose[particle].numpy()
        assert chosen.share[particle].numpy() == pytest.approx(expected[particle][at], abs=1e-6)
    few = engine.assign(torch.from_numpy(scores), "marg", 3)
    assert few.pose.shape == (2, 3)
    assert few.share.sum(dim=1).tolist() == pytest.approx([1, 1])
    assert (few.share.diff(dim=1) <= 0).all()


GRID = 24


def positions(n, seed=1):
    """Places (1, n, xyz) that are far enough from the grid's edge for all 64 neighbours."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.uniform(2, GRID - 4, (1, n, 3)).astype(np.float32))


def random_grid(seed=2):
    rng = np.random.default_rng(seed)
    shape = (GRID,) * 3
    return torch.from_numpy((rng.random(shape) + 1j * rng.random(shape)).astype(np.complex64))


def test_trilinear_projection_is_scipys_interpolation():
    grid, at = random_grid(), positions(500)
    got = engine.project(grid, at, "linear10")[0].numpy()
    zyx = at[0].numpy().astype(np.float64)[:, ::-1].T
    expected = ndimage.map_coordinates(grid.numpy().astype(np.complex128), zyx, order=1)
    assert np.abs(got - expected).max() < 1e-5


def test_tricubic_projection_is_keys_convolution_written_out():
    grid, at = random_grid(), positions(20)
    got = engine.project(grid, at, "linear20")[0].numpy()

    def keys(distance):
        s = abs(distance)
        if s < 1:
            return 1.5 * s**3 - 2.5 * s**2 + 1
        return -0.5 * s**3 + 2.5 * s**2 - 4 * s + 2 if s < 2 else 0.0

    everywhere = np.arange(GRID)
    values = grid.numpy().astype(np.complex128)
    for place, value in some(zip(at[0].numpy().astype(np.float64), got, strict=True)):
        along_x, along_y, along_z = (
            np.array([keys(place[axis] - i) for i in everywhere]) for axis in range(3)
        )
        expected = np.einsum("zyx,z,y,x->", values, along_z, along_y, along_x)
        assert abs(value - expected) < 1e-5


@pytest.mark.parametrize("kernel", ["linear10", "linear20"])
def test_insertion_is_the_transpose_of_projection(kernel):
    grid, at = random_grid(), positions(200).reshape(4, 50, 3)
    values = torch.randn((4, 50), dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    built = engine.Reconstruction(GRID, torch.device("cpu"))
    built.insert(values, torch.ones(4), at, kernel)
    inserted = (built.real + 1j * built.imag).numpy().astype(np.complex128)
    projected = engine.project(grid, at, kernel).numpy().astype(np.complex128)
    one = np.vdot(grid.numpy().ravel(), inserted)
    two = np.vdot(projected.ravel(), values.numpy().ravel())
    assert abs(one - two) < 1e-4 * abs(two)


@pytest.mark.parametrize("kernel", ["linear10", "linear20"])
def test_a_central_slice_is_the_transform_of_the_projection(kernel):
    box_px = 32
    blobs = particles.random_blobs(np.random.default_rng(5), box_px)
    rotations = Rotation.random(3, random_state=6).as_matrix()
    index, frequencies = engine.disc(box_px)
    grid = engine.volume_transform(torch.from_numpy(blobs.volume(box_px)))
    at = engine.slice_positions(
        torch.from_numpy(rotations.astype(np.float32)), frequencies, 2 * box_px
    )
    got = engine.project(grid, at, kernel).numpy()
    images = np.stack([blobs.rotated(matrix).projection(box_px) for matrix in rotations])
    axes = (-2, -1)
    exact = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(images, axes), axes=axes), axes)
    expected = exact.reshape(3, -1)[:, index.numpy()]
    distance = np.linalg.norm(got - expected) / np.linalg.norm(expected)
    # Interpolation in a grid only twice as fine costs a few percent; a wrong turn costs all.
    assert distance < {"linear10": 0.15, "linear20": 0.03}[kernel]
