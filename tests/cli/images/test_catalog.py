"""Each entry runs in the image of its stage, its parameters and its device."""

from __future__ import annotations

from typing import Any

import pytest

from pyscale.errors import UserError
from pyscale.images.catalog import catalog, image_for
from pyscale_stages.contract import Device
from pyscale_stages.registry import STAGE_NAMES, load_stage


def chosen(stage: str, device: Device = "cpu", /, **params: Any) -> str:
    loaded = load_stage(stage)
    return image_for(stage, loaded, loaded.params.model_validate(params), device, {})


@pytest.mark.parametrize(
    ("stage", "params", "image"),
    [
        ("register_denoise", {}, "register_denoise"),
        ("segment", {}, "segment_cellpose3"),
        ("segment", {"model": "cyto3"}, "segment_cellpose3"),
        ("segment", {"model": "cpsam"}, "segment"),
        ("segment", {"model": "/weights/own.pt"}, "segment_cellpose3"),
        ("contact", {}, "contact"),
        ("track", {}, "track"),
        ("track", {"backend": "trackmate"}, "track_trackmate"),
        ("storage", {}, "storage"),
        ("decompress", {}, "decompress"),
        ("kernels", {}, "kernels"),
    ],
)
def test_parameters_decide_the_image(stage, params, image):
    assert chosen(stage, **params) == image


def test_a_gpu_takes_the_variant_that_is_built_for_it():
    assert chosen("segment", "cuda") == "segment_cellpose3-cuda"
    assert chosen("segment", "cuda", model="cpsam") == "segment-cuda"
    assert chosen("kernels", "cuda") == "kernels-cuda"
    assert chosen("contact", "cuda") == "contact"


def test_every_stage_has_an_image_that_the_catalog_knows():
    for stage in (name for name in STAGE_NAMES if not load_stage(name).runs_outside):
        assert catalog()[chosen(stage)].stage == stage


def test_settings_replace_the_choice_by_entry_before_stage(make):
    plan = make(runtime="apptainer", images={"segment": "segment", "track": "track_trackmate"})
    assert {trial.entry: trial.image for trial in plan.trials} == {
        "register_denoise": "register_denoise",
        "segment": "segment",
        "contact": "contact",
        "track": "track_trackmate",
    }


def test_a_native_plan_names_no_image(make):
    assert {trial.image for trial in make().trials} == {None}


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ({"segmnt": "segment"}, "an image to a stage 'segmnt'.* did you mean 'segment'"),
        ({"segment": "segment_cellpos3"}, "did you mean 'segment_cellpose3'"),
        ({"track": "contact"}, "the image contact, which runs contact: use one of track, track_t"),
    ],
)
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
def test_a_misspelt_or_unfitting_image_is_refused(make, runtime, images, words):
    with pytest.raises(UserError, match=words):
        make(runtime=runtime, images=images)
