"""The algorithm that each stage names by its parameters."""

import pytest

from pyscale_stages.registry import STAGE_NAMES, load_stage
from refusals import assert_said

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


def test_a_stage_names_its_algorithm_with_the_version():
    for stage, params in (
        ("register_denoise", {}),
        ("register_denoise", {"transform": "SyN", "denoiser": "none"}),
        ("register_denoise", {"registration": False}),
        ("segment", {}),
        ("segment", {"model": "/home/me/mine"}),
        ("segment", {"model": "cyto3", "estimate_diameter": True}),
        ("contact", {}),
        ("contact", {"backend": "opencl"}),
        ("track", {}),
        ("track", {"backend": "sparse"}),
        ("track", {"backend": "trackmate"}),
        ("loader", {}),
        ("loader", {"reader": "openslide"}),
        ("reconstruct", {}),
        ("reconstruct", {"channels": (16, 32, 64, 64), "blocks": 1}),
        ("kernels", {}),
        ("storage", {}),
        ("decompress", {}),
        ("decompress", {"codecs": ["eer"]}),
    ):
        method = method_of(stage, **params)
        # What stands in for a published model is said.
        assert_said(method.shown(VERSIONS), *filter(None, [method.stand_in]))
    # A version that was not recorded is left out.
    assert method_of("segment").shown({}) == "Cellpose, pyscale-tiny"


@pytest.mark.parametrize("stage", [name for name in STAGE_NAMES if name != "command"])
def test_the_packages_of_an_algorithm_are_recorded(stage):
    method = method_of(stage)
    assert {*method.packages, *filter(None, [method.versioned])} <= set(load_stage(stage).packages)
