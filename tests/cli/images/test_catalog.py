"""Each entry runs in the image of its stage, its parameters and its device."""

import pytest

from atleastone import some
from pyscale.errors import UserError
from pyscale.images.catalog import catalog, image_for
from pyscale_stages.registry import STAGE_NAMES, load_stage
from refusals import refused


def chosen(stage, device="cpu", /, **params):
    loaded = load_stage(stage)
    return image_for(stage, loaded, loaded.params.model_validate(params), device, {})


@pytest.mark.parametrize(
    ("asked", "params", "image"),
    [
        (["register_denoise"], {}, "register_denoise"),
        (["segment"], {}, "segment_cellpose3"),
        (["segment"], {"model": "cyto3"}, "segment_cellpose3"),
        (["segment"], {"model": "cpsam"}, "segment"),
        (["segment"], {"model": "/weights/own.pt"}, "segment_cellpose3"),
        (["track"], {"backend": "trackmate"}, "track_trackmate"),
        # A GPU takes the variant that is built for it.
        (["segment", "cuda"], {}, "segment_cellpose3-cuda"),
        (["segment", "cuda"], {"model": "cpsam"}, "segment-cuda"),
        (["contact", "cuda"], {}, "contact"),
    ],
)
def test_parameters_and_the_device_decide_the_image(asked, params, image):
    assert chosen(*asked, **params) == image


def test_every_stage_has_an_image_that_the_catalog_knows():
    for stage in some(name for name in STAGE_NAMES if not load_stage(name).runs_outside):
        assert catalog()[chosen(stage)].stage == stage


def test_settings_replace_the_choice_by_entry_before_stage_and_a_native_plan_names_none(make):
    plan = make(runtime="apptainer", images={"segment": "segment", "track": "track_trackmate"})
    assert {trial.entry: trial.image for trial in plan.trials} == {
        "register_denoise": "register_denoise",
        "segment": "segment",
        "contact": "contact",
        "track": "track_trackmate",
    }
    assert {trial.image for trial in make().trials} == {None}


@pytest.mark.parametrize(
    "images",
    [
        {"segmnt": "segment"},
        {"segment": "segment_cellpos3"},
        {"track": "contact"},
    ],
    ids=str,
)
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
def test_a_misspelt_or_unfitting_image_is_refused(make, runtime, images):
    with refused(UserError):
        make(runtime=runtime, images=images)
