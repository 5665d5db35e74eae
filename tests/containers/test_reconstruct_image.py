"""The image that reconstructs: ranks in containers compute what this environment does."""

import json
import subprocess
import sys

import numpy as np
import pytest

from commandline import answer_in
from pyscale.store.folder import find_run
from pyscale.store.taskfiles import read_task
from pyscale_stages.reconstruct.output import read_image
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE, Reconstruction
from traineddenoiser import NETWORK, SIGMA, write_weights

pytestmark = pytest.mark.images

PARAMS = NETWORK | {
    "problem": "colour_deblur",
    "size_px": 128,
    "operators": 4,
    "noise": 0.05,
    "sigma": SIGMA,
    "tile_px": 64,
    "overlap_px": 56,
    "warmup_iterations": 1,
    "iterations": 3,
}
ROUNDING = 1e-6
SUITE = """
name = "tiny"
summary = "A small image, in a moment"
data = "phantom"

[stages.colour]
stage = "reconstruct"

[stages.colour.params]
"""


@pytest.fixture(scope="module")
def folder(with_image):
    """Folder with the image of the stage."""
    return with_image("reconstruct")


@pytest.fixture(scope="module")
def params(tmp_path_factory):
    """Parameters with weights at a place of their own that is hard on shells."""
    place = tmp_path_factory.mktemp("weights") / "my weights, [new]: é"
    place.mkdir()
    return PARAMS | {"weights": str(write_weights(place / "some.pth", steps=0))}


def test_ranks_in_containers_reconstruct_what_this_environment_does(folder, params, tmp_path):
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in params.items()]
    (tmp_path / "tiny.toml").write_text(SUITE + "\n".join(lines))
    words = ("run", "tiny.toml", "--runtime", "apptainer", "--workers", "1,2", "--repeats", "1")
    done = answer_in(tmp_path, *words, "--seed", "0", PYSCALE_IMAGES_FOLDER=folder.path)
    assert done.code == 0, done.err
    run = find_run(tmp_path / "runs", None)
    results = {}
    for trial in run.plan.trials:
        found = [read_task(run.task(trial, name)).result for name in trial.window_tasks]
        results[trial.workers] = [result for result in found if result is not None]
        if trial.workers == 1:
            image = read_image(run.task(trial, "w0") / "out")
        else:
            check = read_task(run.task(trial, "check")).result
    for ranks, found_of_ranks in results.items():
        assert len(found_of_ranks) == ranks
        for result in found_of_ranks:
            assert result.stamp["image_sha256"] == folder.read_lock().images["reconstruct"].sha256
    assert check is not None
    assert check.agreement is not None
    assert check.agreement.same
    together = results[2][0].of(Reconstruction)[0]
    assert together is not None
    assert together.weights.startswith("some.pth (")
    assert together.gate is not None
    assert together.gate.gradient is not None
    assert together.gate.gradient <= GRADIENT_TOLERANCE
    assert together.gate.denoiser_interior is not None
    assert together.gate.denoiser_interior <= DENOISER_TOLERANCE
    native = reconstructed_here(tmp_path, params)
    assert np.abs(image - native).max() <= ROUNDING * np.abs(native).max()


def reconstructed_here(folder, params):
    """The image that one rank computes in this environment."""
    (folder / "params.json").write_text(json.dumps(params))
    subprocess.run(
        [
            *(sys.executable, "-m", "pyscale_stages", "reconstruct", "run", "--output", "out"),
            *("--params", "params.json", "--threads", "1", "--seed", "0"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return read_image(folder / "out")


def test_the_doctor_reconstructs_an_image_in_the_container(folder, look):
    found = look(folder, "reconstruct")
    assert {one.status for one in found.values()} == {"ok"}, found
    (works,) = {one.what for (code, _), one in found.items() if code == "stage.works"}
    assert works == "it ran on a small input on cpu"
