"""Every stage that measures the machine, small."""

import pytest

from stagetasks import Bench

SMALL = {
    "storage": {
        "particles": 6,
        "particle_side_px": 18,
        "particle_files": 2,
        "movie_formats": ["mrc"],
        "movies": 1,
        "movie_frames": 1,
        "movie_side_px": 64,
        "small_files": 3,
        "readers": [1],
        "repeats": 1,
        "fio": False,
    },
    "decompress": {
        "codecs": ["mrc", "tiff_zlib"],
        "frames": 2,
        "height_px": 64,
        "width_px": 64,
        "repeats": 1,
        "threads": [1],
    },
    "kernels": {
        "tests": ["triad", "disk_single_linear10_max_C1"],
        "repeats": 2,
        "particle_px": 16,
        "particles": 9,
        "particle_batch": 2,
        "poses": 8,
        "marginal_poses": 2,
        "triad_elements": 1024,
    },
}


@pytest.fixture
def bench_of(tmp_path):
    """A stage, by its name."""
    return lambda stage, **usual: Bench(stage, tmp_path, **(SMALL[stage] | usual))


@pytest.fixture(params=SMALL)
def bench(request, bench_of):
    """Each stage that measures the machine."""
    return bench_of(request.param)


@pytest.fixture
def place(tmp_path):
    """An empty folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
