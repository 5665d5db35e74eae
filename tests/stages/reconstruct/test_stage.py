import json
from io import StringIO

import numpy as np
import pytest
import torch

import startedranks
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct.iterate import timed_iterations
from pyscale_stages.reconstruct.output import read_image
from pyscale_stages.reconstruct.problems import problem_of
from pyscale_stages.reconstruct.run import psnr_db
from pyscale_stages.reconstruct.stage import NEEDS, ReconstructParams
from pyscale_stages.reconstruct.tiles import interior_mask
from pyscale_stages.reconstruction import Reconstruction
from pyscale_stages.trying import Trying
from pyscale_stages.windows import read_window
from stagetasks import run_verb

TRUTH = np.random.default_rng(0).random((3, 16, 16), np.float32)

SMALL = startedranks.SMALL | {"channels": [4, 4, 8, 8], "whole_at_one": True, "iterations": 2}


def reconstructed(output, **given):
    order = {"device": given.pop("device", "cpu"), "seed": given.pop("seed", 0)}
    return run_verb("reconstruct", "run", output=output, params=SMALL | given, **order)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reconstruct")


@pytest.fixture(scope="module")
def result(folder):
    return reconstructed(folder / "alone")


def test_a_run_leaves_the_image_and_says_of_which_rank_it_is(result, folder):
    assert result.error is None
    assert read_image(folder / "alone").shape == (3, 128, 128)
    window = read_window(folder / "alone")
    assert (window.frames, window.movie_frames) == ((0, 1), 1)
    assert result.counters.frames == 1
    assert {output.name for output in result.outputs} == {"reconstruction.tif", "window.json"}


def test_the_record_says_what_was_computed_on_what_and_in_which_phases(result):
    record = result.of(Reconstruction)[0]
    assert (record.problem, record.shape) == ("colour_deblur", (3, 128, 128))
    assert (record.operators, record.operators_here) == (4, 4)
    assert (record.weights, record.timing_only, record.backend) == ("random", True, "")
    assert record.tiling.tiles == 1
    assert record.gate is None
    assert record.device == "the processor"
    assert 0 < record.memory_peak_bytes < record.memory_total_bytes
    # What was held after the iterations is no more than the most that was held.
    assert 0 < record.pss_bytes <= record.memory_peak_bytes
    assert record.setup_s > 0
    phases = [span.phase for span in result.spans]
    assert phases[-3:] == ["model_load", "compute", "write"]
    assert "import" in phases


def test_quality_and_objective_are_those_of_the_image_that_is_left(result, folder):
    record = result.of(Reconstruction)[0]
    params = ReconstructParams.model_validate(SMALL)
    problem = problem_of(params, 0)
    left, truth = read_image(folder / "alone"), problem.image[0].numpy()
    inside = interior_mask(problem.shape, params)
    assert record.psnr_db == psnr_db(left, truth)
    assert record.psnr_interior_db == psnr_db(left, truth, inside)
    assert record.psnr_border_db == psnr_db(left, truth, ~inside)
    low, high = sorted((record.psnr_interior_db, record.psnr_border_db))
    assert low < record.psnr_db < high
    image = torch.from_numpy(left)[None]
    residuals = [
        problem.operator(index, "cpu").A(image) - problem.measurement(index, "cpu")
        for index in range(problem.operators)
    ]
    squares = sum(float(residual.double().square().sum()) for residual in residuals)
    assert record.objective == pytest.approx(squares / 2, rel=1e-3)


def test_the_same_seed_gives_the_same_bytes(result, folder):
    again = reconstructed(folder / "again")
    assert again.outputs[0].sha256 == result.outputs[0].sha256


def test_image_noise_and_random_weights_are_those_of_the_tasks_seed(folder, solver_alone):
    assert reconstructed(folder / "seeded", seed=3).error is None
    params = ReconstructParams.model_validate(SMALL)
    with torch.no_grad():
        solver, _ = solver_alone(params, seed=3)
        expected, _ = timed_iterations(solver, Group(0, 1), params)
    assert read_image(folder / "seeded") == pytest.approx(expected[0].numpy(), abs=1e-5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="an NVIDIA GPU works here")
def test_a_device_that_cannot_serve_is_refused_in_a_sentence_with_its_place(folder):
    refused = reconstructed(folder / "cuda", device="cuda")
    assert refused.error.exit_code == 2
    assert refused.error.message.startswith(f"rank 0 of 1 on {node_name()}: the device cuda")
    assert not (folder / "cuda").exists()


def test_an_error_of_a_tenth_is_twenty_decibels_where_pixels_count_and_none_has_no_ratio():
    assert psnr_db(TRUTH + np.float32(0.1), TRUTH) == pytest.approx(20, abs=1e-4)
    found, where = TRUTH.copy(), np.zeros((16, 16), np.bool_)
    assert psnr_db(TRUTH, TRUTH) is None
    assert psnr_db(TRUTH + 1, TRUTH, where) is None
    where[4:12, 4:12] = True
    found[:, where] += np.float32(0.01)
    found[:, ~where] += 1
    assert psnr_db(found, TRUTH, where) == pytest.approx(40, abs=1e-2)
    assert psnr_db(found, TRUTH, ~where) == pytest.approx(0, abs=1e-4)


TINY = {"channels": (4, 4, 8, 8), "blocks": 1, "tile_px": 16, "overlap_px": 8, "angles": 4}


@pytest.mark.parametrize(("problem", "size_px"), [("tomography_3d", 32), ("colour_deblur", 64)])
def test_a_small_image_is_reconstructed_and_a_volume_is_smaller(problem, size_px):
    params = ReconstructParams(problem=problem, operators=2, **TINY)
    request = {
        "stage": "reconstruct",
        "params": params.model_dump(mode="json"),
        "device": "cpu",
        "threads": 1,
        "entry": "image",
    }
    said = StringIO()
    NEEDS.try_out(Trying(request, said))
    step, works = map(json.loads, said.getvalue().splitlines())
    assert step == {"step": "run on a small input on cpu"}
    assert (works["code"], works["where"], works["status"]) == ("stage.works", "image", "ok")
    assert works["what"] == "it ran on a small input on cpu"
