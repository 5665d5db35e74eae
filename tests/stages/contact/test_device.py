import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from pyscale_stages.contact.pixels import first_of_kind
from pyscale_stages.errors import MissingPart
from refusals import refused

pytestmark = pytest.mark.slow


@pytest.fixture
def contact(tmp_path):
    """Run the stage by OpenCL as its own process, as everyone but a test does."""
    file = tmp_path / "opencl.json"

    def run(movie, output, *options, params=None, **environment):
        file.write_text(json.dumps({"backend": "opencl", **(params or {})}))
        line = ["-m", "pyscale_stages", "contact", "run", "--params", str(file)]
        return subprocess.run(
            [sys.executable, *line, "--input", str(movie), "--output", str(output), *options],
            env=os.environ | {name: str(value) for name, value in environment.items()},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def varied_movie(n_frames):
    """Frames with another number of cells each."""
    movie = np.zeros((n_frames, 12, 15), np.uint16)
    for frame, image in enumerate(movie):
        image[:2, : 2 * frame + 2] = np.arange(1, 2 * frame + 3)
    return movie


def device(info):
    return SimpleNamespace(name="a device", info=f"(OpenCL) a device\n\t{info}\n")


def test_cuda_means_the_first_device_that_nvidia_made():
    other = device("Vendor:                      Advanced Micro Devices, Inc.")
    nvidia = device("Vendor:                      NVIDIA Corporation")
    assert first_of_kind("cuda", [other, nvidia]) is nvidia
    with refused(MissingPart):
        first_of_kind("cuda", [other])


def test_without_any_opencl_platform_the_stage_says_what_to_install(contact, movie_of, tmp_path):
    nothing = tmp_path / "vendors"
    nothing.mkdir()
    done = contact(movie_of(varied_movie(1)), tmp_path / "out", OCL_ICD_VENDORS=nothing)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert "apt-get install ocl-icd-libopencl1 pocl-opencl-icd" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("opencl")
def test_a_task_leaves_no_kernels_behind(contact, movie_of, tmp_path):
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    movie, caches = movie_of(varied_movie(2)), home / ".cache"
    done = contact(movie, tmp_path / "out", HOME=home, TMPDIR=temporary, XDG_CACHE_HOME=caches)
    assert done.returncode == 0, done.stderr
    kernels = [path for path in home.rglob("*") if path.suffix in {".bin", ".so", ".bc"}]
    assert kernels == []
    assert list(temporary.iterdir()) == []


def test_frames_of_more_cells_than_a_matrix_holds_are_measured_by_numpy_and_said(
    contact, movie_of, tmp_path
):
    crowded = np.arange(1, 5_001, dtype=np.uint16).reshape(1, 50, 100)
    done = contact(movie_of(crowded), tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "frames of 4096 cells and more are measured by NumPy" in done.stderr
    by_numpy = contact(movie_of(crowded), tmp_path / "same", params={"backend": "numpy"})
    assert by_numpy.returncode == 0, by_numpy.stderr
    contacts = [(tmp_path / name / "contacts.parquet").read_bytes() for name in ("out", "same")]
    assert contacts[0] == contacts[1]
