import pytest

from pyscale.errors import UserError
from pyscale.images.lockfile import ImageFolder
from pyscale.images.pull import with_images_here
from pyscale.planning.suite import Suite
from refusals import refused

DIGEST = f"sha256:{'0123456789abcdef' * 4}"


def suite_in(image):
    stages = {"mine": {"command": "a", "image": image}, "contact": {}}
    return Suite.model_validate({"name": "mine", "summary": "Mine", "stages": stages})


@pytest.mark.parametrize(
    ("named", "sif"),
    [
        ("docker://python:3.11@", "python"),
        ("docker://lab/my.tool@", "my.tool"),
        ("docker://registry.example/lab/tool:1@", "tool"),
        ("docker://127.0.0.1:5000/lab/a/tool@", "tool"),
        ("docker://localhost/tool@", "tool"),
        ("oras://registry.example:443/tool@", "tool"),
    ],
)
def test_an_image_that_was_pulled_before_is_its_file(named, sif, tmp_path):
    file = tmp_path / "steps" / f"{sif}-0123456789abcdef.sif"
    file.parent.mkdir()
    file.touch()
    suite = with_images_here(suite_in(named + DIGEST), ImageFolder(tmp_path), pulls=True)
    params = suite.stages["mine"].params
    assert (params["image"], params["pulled_from"]) == (str(file), named + DIGEST)
    assert suite.stages["contact"] == suite_in("").stages["contact"]


@pytest.mark.parametrize(
    "named",
    [
        "docker://python:3.11",
        "docker://python@sha256:abc",
        f"docker://Lab/Tool@{DIGEST}",
        f"docker://@{DIGEST}",
        f"https://registry.example/tool@{DIGEST}",
        f"docker://--no-https/tool@{DIGEST}",
    ],
)
def test_an_image_that_is_not_pinned_is_refused(named, tmp_path):
    with refused(UserError):
        with_images_here(suite_in(named), ImageFolder(tmp_path), pulls=True)


def test_an_image_that_is_a_file_stays_it(tmp_path):
    suite = suite_in("mine.sif")
    assert with_images_here(suite, ImageFolder(tmp_path), pulls=True) == suite
