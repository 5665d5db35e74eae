"""A task loads what it uses: libraries are most of the time of a short one."""

import json
import subprocess
import sys

import numpy as np
import pytest

from movingsquares import write_moving_squares
from pyscale_stages.contract import Window
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.segment.labels import LABELS_FILE
from pyscale_stages.segment.params import SegmentParams
from stagetasks import Bench

OF_LAPTRACK = {"laptrack", "pandas", "sklearn", "networkx"}
OF_CELLPOSE = {"torch", "cellpose", "cv2", "numba"}
OF_ANTS = {"ants", "matplotlib", "statsmodels"}
ANYWHERE = {"IPython", "http.client", "rich"}
"""What no task here uses."""


def write_drifting(path):
    """Write six frames of 96 x 96 pixels that a shift explains, so that nothing is handed over."""
    random = np.random.default_rng(0)
    image = np.kron(random.uniform(100, 1000, (20, 20)), np.ones((6, 6)))
    frames = [random.poisson(image[t : t + 96, :96]) for t in range(6)]
    write_movie(path, np.array(frames, np.uint16), "TYX")
    return path


def loaded_by(tmp_path, stage, verb, inputs, **params):
    """Names of the modules that the process of a task imports."""
    file = tmp_path / "params.json"
    file.write_text(json.dumps(params))
    command = [sys.executable, "-X", "importtime", "-m", "pyscale_stages", stage, verb]
    for slot, path in inputs:
        command += ["--input", f"{slot}={path}"]
    output = [] if verb == "check" else ["--output", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, *output, "--params", str(file)], capture_output=True, text=True, check=True
    )
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


@pytest.mark.parametrize(
    ("stage", "verb", "params", "unused"),
    [
        ("register_denoise", "run", {"backend": "fft"}, OF_ANTS | {"pandas", "skimage"}),
        ("register_denoise", "run", {"registration": False}, OF_ANTS | {"pandas", "skimage"}),
        ("register_denoise", "merge", {"backend": "fft"}, OF_ANTS | {"pywt", "scipy", "skimage"}),
        ("register_denoise", "check", {"backend": "fft"}, OF_ANTS | {"pywt", "scipy", "skimage"}),
        ("contact", "run", {}, {"pyclesperanto", "pandas"}),
        ("track", "run", {"backend": "sparse"}, OF_LAPTRACK),
        ("track", "merge", {}, OF_LAPTRACK | {"scipy"}),
        ("track", "check", {}, OF_LAPTRACK | {"scipy"}),
    ],
)
def test_a_task_does_not_load(tmp_path, stage, verb, params, unused):
    of_frames = stage == "register_denoise"
    write = write_drifting if of_frames else write_moving_squares
    movie = write(tmp_path / "movie.ome.tif")
    inputs = [("frames" if of_frames else "labels", movie)]
    if verb != "run":
        bench = Bench(stage, tmp_path, **params)
        frames = ((0, 3), (3, 6)) if verb == "merge" else ((0, 6),) * 2
        inputs = [("w0", folder) for folder in bench.windows(movie, *frames)]
    loaded = loaded_by(tmp_path, stage, verb, inputs, **params)
    assert "pyscale_stages.task" in loaded
    assert loaded & (unused | ANYWHERE) == set()


def labels_in(folder):
    """Write an output as the segmentation does, without a network."""
    folder.mkdir()
    write_moving_squares(folder / LABELS_FILE)
    window = Window(
        stage="segment",
        frames=(0, 6),
        movie_frames=6,
        params=SegmentParams().model_dump(mode="json"),
        seed=0,
        inputs={"frames": "0" * 64},
    )
    (folder / "window.json").write_text(window.model_dump_json())
    return folder


@pytest.mark.parametrize(("verb", "times"), [("merge", 1), ("check", 2)])
def test_joining_and_comparing_labels_loads_no_network_and_no_tables(tmp_path, verb, times):
    inputs = [("w0", labels_in(tmp_path / "labels"))] * times
    loaded = loaded_by(tmp_path, "segment", verb, inputs)
    assert "pyscale_stages.segment.labels" in loaded
    unused = OF_CELLPOSE | {"polars", "skimage"}
    assert loaded & (unused | ANYWHERE) == set()
