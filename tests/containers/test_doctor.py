"""What an image can do is asked of its own interpreter, started as a task would start it."""

import pytest

from pyscale_stages.measure.gpus import gpu_present
from pyscale_stages.segment.params import embedded_model

SEGMENT = """
name = "part"
summary = "A part of the pipeline"
[stages.segment]
inputs = { frames = "movie" }
"""
CONTACT = """
[stages.contact]
inputs = { labels = "segment" }
"""


def written(folder, text):
    """Write a suite; return its path."""
    (folder / "part.toml").write_text(text)
    return str(folder / "part.toml")


def test_every_stage_of_the_pipeline_does_some_work_in_its_image(look, built_images):
    found = look(built_images, "pipeline")
    assert {one.status for one in found.values()} == {"ok"}
    for stage in ("register_denoise", "segment", "contact", "track"):
        assert found["stage.works", stage].status == "ok"


@pytest.fixture
def here(with_image):
    """Images of the two stages of the suite above."""
    with_image("contact")
    return with_image("segment_cellpose3")


CELLPOSE_3 = {"segment": "segment_cellpose3"}


@pytest.mark.skipif(gpu_present(), reason="this machine has a GPU")
def test_an_image_finds_no_gpu_where_there_is_none(look, here, tmp_path):
    suite = written(tmp_path, SEGMENT + CONTACT)
    found = look(here, suite, device="cuda", images=CELLPOSE_3)
    assert "nvidia.icd" in found["stage.works", "contact"].do
    assert "does not work here" in found["stage.works", "segment"].what


def test_two_stages_work_and_weights_outside_the_image_are_seen_inside(look, here, tmp_path):
    weights = tmp_path / "my weights.pt"
    weights.write_bytes(embedded_model("pyscale-tiny").read_bytes())
    own = {"segment": {"model": str(weights)}}
    suite = written(tmp_path, SEGMENT + CONTACT)
    found = look(here, suite, stages=own, images=CELLPOSE_3)
    assert found["stage.weights", "segment"].what.startswith("my weights.pt")
    assert {found["stage.works", name].status for name in ("segment", "contact")} == {"ok"}
