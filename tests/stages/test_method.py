"""The algorithm that each stage names by its parameters."""

import pytest

from pyscale_stages.registry import STAGE_NAMES, load_stage

VERSIONS = {
    "cellpose": "3.1.1.3",
    "deepinv": "0.5.0",
    "imagecodecs": "2026.1.2",
    "laptrack": "0.17.0",
    "numpy": "2.0.2",
    "pyclesperanto": "0.25.1",
    "torch": "2.13.0+cpu",
}


def method_of(stage, **params):
    declared = load_stage(stage)
    return declared.method(declared.params(**params), "cpu")


@pytest.mark.parametrize(
    ("stage", "params", "shown"),
    [
        ("register_denoise", {}, "ANTs Translation, wavelets"),
        ("register_denoise", {"transform": "SyN", "denoiser": "none"}, "ANTs SyN"),
        ("register_denoise", {"registration": False}, "wavelets"),
        ("segment", {}, "Cellpose 3.1, pyscale-tiny"),
        ("segment", {"model": "/home/me/mine"}, "Cellpose 3.1, mine"),
        ("segment", {"model": "cyto3", "estimate_diameter": True},
         "Cellpose 3.1, cyto3, estimated diameter"),
        ("contact", {}, "NumPy 2.0, touching pixels"),
        ("contact", {"backend": "opencl"}, "pyclesperanto 0.25"),
        ("track", {}, "laptrack 0.17"),
        ("track", {"backend": "overlap"}, "links by overlap"),
        ("track", {"backend": "trackmate"}, "TrackMate, sparse LAP tracker"),
        ("loader", {}, "torch DataLoader 2.13, data set of wsistream"),
        ("loader", {"reader": "openslide"},
         "torch DataLoader 2.13, data set of wsistream, openslide reader"),
        ("reconstruct", {}, "DeepInverse 0.5, colour deblurring with DRUNet"),
        ("kernels", {}, "torch kernels 2.13"),
        ("storage", {}, "file system tests"),
        ("decompress", {}, "imagecodecs 2026.1"),
        ("decompress", {"codecs": ["eer"]}, "imagecodecs 2026.1, eer"),
    ],
)  # fmt: skip
def test_a_stage_names_its_algorithm_with_the_version(stage, params, shown):
    assert method_of(stage, **params).shown(VERSIONS) == shown


def test_a_version_that_was_not_recorded_is_left_out():
    assert method_of("segment").shown({}) == "Cellpose, pyscale-tiny"


@pytest.mark.parametrize("stage", [name for name in STAGE_NAMES if name != "command"])
def test_the_packages_of_an_algorithm_are_recorded(stage):
    method = method_of(stage)
    assert {*method.packages, *filter(None, [method.versioned])} <= set(load_stage(stage).packages)


def test_what_stands_in_for_a_published_model_is_said():
    assert method_of("segment").stand_in == (
        "pyscale-tiny, a small nuclei model of 3 MB for timing: its times are not those of "
        "Cellpose's published models"
    )
    assert method_of("segment", model="cyto3").stand_in is None
    assert method_of("reconstruct").stand_in is None
    smaller = method_of("reconstruct", channels=(16, 32, 64, 64), blocks=1)
    assert smaller.shown(VERSIONS) == "DeepInverse 0.5, colour deblurring with a smaller DRUNet"
    assert smaller.stand_in == (
        "a DRUNet of 1 block at each scale with 16, 32, 64, 64 channels: its times are not those "
        "of the published network"
    )
