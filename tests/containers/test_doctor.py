"""What an image can do is asked of its own interpreter, started as a task would start it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.doctor.containers import images
from pyscale.doctor.findings import Finding
from pyscale.doctor.stages import stages
from pyscale.doctor.subject import Subject
from pyscale.images.lockfile import ImageFolder
from pyscale.settings import load_settings
from pyscale_stages.measure.gpus import gpu_present

Look = Callable[..., dict[str, Finding]]


@pytest.fixture
def look(built_images: ImageFolder, tmp_path: Path) -> Look:
    """Ask the images of the pipeline or of a part of it, with any setting replaced."""

    def look(suite: str = "pipeline", **changes: object) -> dict[str, Finding]:
        folders = {"images_folder": built_images.path, "runs_folder": tmp_path / "runs"}
        settings = load_settings(**(folders | {"runtime": "apptainer", "workers": (1,)} | changes))
        subject = Subject.of_suite(suite, settings)
        return {one.check: one for one in (*images(subject), *stages(subject))}

    return look


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


def written(folder: Path, text: str) -> str:
    """Write a suite; return its path."""
    (folder / "part.toml").write_text(text)
    return str(folder / "part.toml")


@pytest.mark.slow
def test_every_stage_of_the_pipeline_does_some_work_in_its_image(look):
    found = look()
    assert {one.status for one in found.values()} == {"ok"}
    for stage in ("register_denoise", "segment", "contact", "track"):
        assert found[f"stage.{stage}.works"].status == "ok"
    assert "as recorded" in found["stage.segment.weights"].sentence


@pytest.mark.slow
@pytest.mark.skipif(gpu_present(), reason="this machine has a GPU")
def test_an_image_finds_no_gpu_where_there_is_none(look, tmp_path):
    suite = written(tmp_path, SEGMENT + CONTACT)
    found = look(suite, device="cuda", images={"segment": "segment_cellpose3"})
    assert "nvidia.icd" in found["stage.contact.works"].remedy
    assert "does not work here" in found["stage.segment.works"].sentence


@pytest.mark.slow
def test_weights_outside_the_image_are_seen_inside(look, tmp_path):
    from pyscale_stages.resources import embedded_model

    weights = tmp_path / "my weights.pt"
    weights.write_bytes(embedded_model("pyscale-tiny").read_bytes())
    found = look(written(tmp_path, SEGMENT), stages={"segment": {"model": str(weights)}})
    assert found["stage.segment.weights"].sentence.startswith("segment: my weights.pt")
    assert found["stage.segment.works"].status == "ok"
