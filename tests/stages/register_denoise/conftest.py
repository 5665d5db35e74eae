import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import ndimage

from pyscale_stages.moviewriter import write_movie
from stagetasks import Bench

Image = npt.NDArray[np.float32]

DRIFT_YX = ((0.0, 0.0), (5.0, 0.0), (-3.25, 2.5), (1.75, -6.0))


def _specimen(shape_yx, drift_yx=(0, 0)):
    """Blobs on a background of 100 counts, moved by a drift; the same blobs every time."""
    margin = 16
    rng = np.random.default_rng(7)
    field = np.zeros((shape_yx[0] + 2 * margin, shape_yx[1] + 2 * margin))
    for y, x in zip(*(rng.uniform(0, side, 90) for side in field.shape), strict=True):
        field[int(y), int(x)] = rng.uniform(0.4, 1)
    field = ndimage.gaussian_filter(field, 3)
    moved = np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(field), drift_yx)).real
    image = moved[margin:-margin, margin:-margin] / field.max()
    return (100 + 2000 * image).astype(np.float32)


def _noisy(image, seed):
    """The image as a camera counts it: a photon each two counts."""
    return (2 * np.random.default_rng(seed).poisson(image.clip(0) / 2)).astype(np.uint16)


@pytest.fixture(scope="session")
def specimen():
    """Draw the specimen: shape and drift in pixels, (y, x) each."""
    return _specimen


@pytest.fixture(scope="session")
def noisy():
    """Add a camera's noise to an image, by a seed."""
    return _noisy


@pytest.fixture(scope="session")
def drifting_pixels():
    """Four frames of 96 x 128 pixels that drift by `DRIFT_YX`."""
    return np.stack([_noisy(_specimen((96, 128), d), i) for i, d in enumerate(DRIFT_YX)])


@pytest.fixture(scope="session")
def drifting_movie(tmp_path_factory, drifting_pixels):
    path = tmp_path_factory.mktemp("drifting") / "movie.ome.tif"
    write_movie(path, drifting_pixels, "TYX")
    return path


@pytest.fixture
def drift_truth(tmp_path):
    folder = tmp_path / "truth"
    folder.mkdir()
    dy, dx = zip(*DRIFT_YX, strict=True)
    pl.DataFrame(
        {"frame": range(len(DRIFT_YX)), "dy_px": dy, "dx_px": dx},
        schema={"frame": pl.Int32, "dy_px": pl.Float64, "dx_px": pl.Float64},
    ).write_parquet(folder / "drift.parquet")
    return folder


@pytest.fixture
def bench(tmp_path):
    """The stage without denoising, fast: for tests of anything but a registration's accuracy."""
    return Bench("register_denoise", tmp_path, denoiser="none", iterations=[500, 500, 100, 0])


@pytest.fixture
def accurate(tmp_path):
    return Bench("register_denoise", tmp_path, denoiser="none")


@pytest.fixture
def ants_fails(monkeypatch):
    import ants

    def fail(*args, **kwargs):
        raise RuntimeError("Registration failed with error code 1")

    monkeypatch.setattr(ants, "registration", fail)
