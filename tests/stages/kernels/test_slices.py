import numpy as np
import pytest
import torch
from scipy import ndimage
from scipy.spatial.transform import Rotation

from atleastone import some
from pyscale_stages.kernels import slices
from pyscale_stages.kernels.particles import random_blobs

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
    got = slices.project(grid, at, "linear10")[0].numpy()
    zyx = at[0].numpy().astype(np.float64)[:, ::-1].T
    expected = ndimage.map_coordinates(grid.numpy().astype(np.complex128), zyx, order=1)
    assert np.abs(got - expected).max() < 1e-5


def test_tricubic_projection_is_keys_convolution_written_out():
    grid, at = random_grid(), positions(20)
    got = slices.project(grid, at, "linear20")[0].numpy()

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
    built = slices.Reconstruction(GRID, torch.device("cpu"))
    built.insert(values, torch.ones(4), at, kernel)
    inserted = (built.real + 1j * built.imag).numpy().astype(np.complex128)
    projected = slices.project(grid, at, kernel).numpy().astype(np.complex128)
    one = np.vdot(grid.numpy().ravel(), inserted)
    two = np.vdot(projected.ravel(), values.numpy().ravel())
    assert abs(one - two) < 1e-4 * abs(two)


@pytest.mark.parametrize("kernel", ["linear10", "linear20"])
def test_a_central_slice_is_the_transform_of_the_projection(kernel):
    box_px = 32
    blobs = random_blobs(np.random.default_rng(5), box_px)
    rotations = Rotation.random(3, random_state=6).as_matrix()
    index, frequencies = slices.disc(box_px)
    grid = slices.volume_transform(torch.from_numpy(blobs.volume(box_px)))
    at = slices.slice_positions(
        torch.from_numpy(rotations.astype(np.float32)), frequencies, 2 * box_px
    )
    got = slices.project(grid, at, kernel).numpy()
    images = np.stack([blobs.rotated(matrix).projection(box_px) for matrix in rotations])
    axes = (-2, -1)
    exact = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(images, axes), axes=axes), axes)
    expected = exact.reshape(3, -1)[:, index.numpy()]
    distance = np.linalg.norm(got - expected) / np.linalg.norm(expected)
    # Interpolation in a grid only twice as fine costs a few percent; a wrong turn costs all.
    assert distance < {"linear10": 0.15, "linear20": 0.03}[kernel]
