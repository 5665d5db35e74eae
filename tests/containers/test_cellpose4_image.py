"""The image of Cellpose 4 with weights of one's own: alone, and in a run."""

import json
import subprocess

import numpy as np
import pytest
import tifffile

from cellpose4_grid import MAKE_WEIGHTS, TOKEN_PX
from commandline import answer_in
from pyscale_stages.moviewriter import write_movie

pytestmark = pytest.mark.images

SHAPE_YX = (64, 96)
SUITE = """
name = "cellpose4"
summary = "Segmentation alone"

[stages.segment]
inputs = { frames = "movie" }
params = { model = "%s" }
"""


def in_image(engine, images, folder, verb, *arguments):
    """Start the image as somebody without pyscale would."""
    options = ("--containall", "--bind", str(folder), "--pwd", str(folder))
    return subprocess.run(
        engine.command(verb, *options, str(images.sif("segment")), *arguments),
        capture_output=True,
        text=True,
        check=False,
    )


def run_suite(folder, images):
    options = ("--runtime", "apptainer", "--workers", "1", "--repeats", "1")
    words = ("run", "mine.toml", "--data", "movie.ome.tif", *options)
    return answer_in(folder, *words, PYSCALE_IMAGES_FOLDER=images.path)


def drawn(labels):
    """Whether there is one cell of 36 pixels for each token of the network."""
    cells = SHAPE_YX[0] // TOKEN_PX * (SHAPE_YX[1] // TOKEN_PX)
    pixels = np.bincount(tifffile.imread(labels).ravel())[1:]
    return pixels.tolist() == [36] * cells


@pytest.fixture(scope="module")
def bench(engine, built_images, tmp_path_factory):
    """A folder with a movie and weights, which the image itself has made."""
    folder = tmp_path_factory.mktemp("cellpose4")
    # One frame: the network takes half a minute of processor time for each.
    frames = np.random.default_rng(0).integers(0, 500, (1, *SHAPE_YX)).astype(np.uint16)
    write_movie(folder / "movie.ome.tif", frames, "TYX")
    made = in_image(engine, built_images, folder, "exec", "python", "-c", MAKE_WEIGHTS, "grid.pt")
    assert made.returncode == 0, made.stderr
    return folder


def test_the_image_of_cellpose_4_segments_alone(engine, built_images, bench):
    (bench / "params.json").write_text(json.dumps({"model": "grid.pt"}), encoding="utf-8")
    run = ("run", "--input", "movie.ome.tif", "--output", "out", "--params", "params.json")
    done = in_image(engine, built_images, bench, "run", *run)
    assert done.returncode == 0, done.stderr
    assert drawn(bench / "out" / "labels.ome.tif")


def test_a_run_with_weights_of_ones_own_says_which_image_they_need_and_takes_it(
    built_images, bench
):
    (bench / "mine.toml").write_text(SUITE % (bench / "grid.pt"), encoding="utf-8")
    refused = run_suite(bench, built_images)
    assert refused.code == 1
    assert "needs Cellpose 4, but 3.1.1.3 is installed: run the image segment" in refused.err
    (bench / "pyscale.toml").write_text('[images]\nsegment = "segment"\n', encoding="utf-8")
    done = run_suite(bench, built_images)
    assert done.code == 0, done.err
    (labels,) = bench.glob("runs/*/tasks/segment-n1-b1/w0/out/labels.ome.tif")
    assert drawn(labels)
    used = built_images.read_lock().images["segment"].sha256
    manifest = labels.parents[4] / "provenance_manifest.json"
    assert used in manifest.read_text(encoding="utf-8")
