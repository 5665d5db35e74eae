"""Ranks as real processes over gloo: what they reconstruct together, and how they end."""

import socket
import statistics
from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from atleastone import some
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.reconstruct.output import read_image
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE
from startedranks import SMALL, run_ranks

pytestmark = pytest.mark.slow

TORCHRUN_PORT = 29500
SAME_IMAGE = 1e-5
"""Largest difference, as a share of the largest value: sums are taken in other orders."""
REST_SHARE = 0.01

PROBLEMS = {
    "colour_deblur": {},
    # Four ranks share nine tiles, and three of them the operators.
    "tomography_2d": {"angles": 30, "operators": 3, "tile_px": 48},
    "tomography_3d": {"size_px": 32, "tile_px": 16, "overlap_px": 8, "angles": 8},
}
GROUPS = (("colour_deblur", 2), ("tomography_2d", 4), ("tomography_3d", 2))


@pytest.fixture(scope="module")
def run_group(tmp_path_factory):
    """Run each group of ranks once, while the port that others would meet by is taken."""
    folder = tmp_path_factory.mktemp("groups")

    @cache
    def group(problem, count):
        return run_ranks(
            folder / f"{problem}-{count}", count, params={"problem": problem, **PROBLEMS[problem]}
        )

    with socket.socket() as taken:
        # Where another program has it, it is in use all the same.
        with suppress(OSError):
            taken.bind(("", TORCHRUN_PORT))
            taken.listen()
        yield group


@pytest.mark.parametrize(("problem", "count"), GROUPS)
def test_ranks_compute_what_one_computes(run_group, problem, count):
    ranks = run_group(problem, count)
    assert [rank.exit_code for rank in ranks] == [0] * count, [rank.said for rank in ranks]
    assert [rank.measured.gate is None for rank in ranks] == [False] + [True] * (count - 1)
    assert [rank.frames for rank in ranks] == [1] + [0] * (count - 1)
    gate = ranks[0].measured.gate
    assert gate.gradient <= GRADIENT_TOLERANCE
    assert gate.denoiser_border is not None
    if problem == "tomography_3d":
        assert gate.denoiser_interior is None
        assert "too small to hold the network's field of view" in gate.why_not
    else:
        assert gate.interior_px > 0
        assert gate.denoiser_interior <= DENOISER_TOLERANCE
    for name in ("operators", "tiles"):
        here = [getattr(part_of(rank, name), f"{name}_here") for rank in ranks]
        assert sum(here) == getattr(part_of(ranks[0], name), name)
    assert {rank.measured.backend for rank in ranks} == {"gloo"}
    warned = [rank.result.warnings for rank in ranks]
    idle = [any("share 3 operators, so 1 of them wait" in each for each in of) for of in warned]
    assert idle == [problem == "tomography_2d"] + [False] * (count - 1)


def part_of(rank, name):
    """Where a rank's record holds its share of operators or tiles."""
    return rank.measured.tiling if name == "tiles" else rank.measured


@pytest.mark.parametrize(("problem", "count"), GROUPS)
def test_components_are_all_of_an_iteration(run_group, problem, count):
    for rank in some(run_group(problem, count)):
        iterations = rank.measured.iterations
        assert len(iterations) == SMALL["iterations"]
        # A rank may be put aside anywhere, once: the median iteration was not.
        rest = statistics.median(abs(each.rest_s) / each.wall_s for each in iterations)
        assert rest <= REST_SHARE
        for name in ("gradient", "denoiser", "communication", "gather"):
            assert all(getattr(each, f"{name}_s") > 0 for each in iterations)


def test_two_ranks_make_the_image_that_one_makes_of_the_same_tiles(run_group):
    alone, together = (run_group("colour_deblur", count)[0] for count in (1, 2))
    assert alone.exit_code == 0, alone.said
    assert alone.measured.tiling.tiles == together.measured.tiling.tiles == 4
    expected, image = read_image(alone.output), read_image(together.output)
    assert expected.shape == (3, SMALL["size_px"], SMALL["size_px"])
    assert expected.std() > 0
    assert np.abs(image - expected).max() <= SAME_IMAGE * np.abs(expected).max()


def test_a_rank_whose_memory_runs_out_ends_the_others(tmp_path):
    other, exhausted = run_ranks(
        tmp_path / "ranks",
        2,
        params={
            # What one layer gives of eight tiles is 17 MB.
            "channels": (128, 4, 8, 8),
            "tile_px": 32,
            "overlap_px": 16,
            "tiles_at_once": 8,
        },
        out_of_memory=1,
    )
    assert exhausted.exit_code == 3
    said = exhausted.sentence
    assert f"in rank 1 of 2 on {node_name()}: lower size_px, tile_px or tiles_at_once" in said
    assert other.exit_code == 1
    assert f"ended ({said}), so rank 0 stopped too" in other.sentence
    assert "Traceback" not in other.said + exhausted.said
