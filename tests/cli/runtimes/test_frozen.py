"""The images of a run, where the container program is that of a cluster's nodes alone."""

import pytest

from mockruns import plan_of, site, small_movie
from pyscale.planning.runsettings import step_asked_for
from pyscale.runtimes import starting
from pyscale_stages.errors import MissingPart


@pytest.fixture
def frozen_on(tmp_path, monkeypatch):
    """What is frozen of a step in an image of the user's own, with no program to be found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    image = tmp_path / "mine.sif"
    image.write_bytes(b"an image")

    def freeze(on_site):
        suite = step_asked_for(None, "copy {input} {output}", {"image": image})
        plan = plan_of(suite, small_movie(tmp_path), tmp_path, on_site=on_site)
        return starting.freeze_containers(plan)

    return freeze


def test_jobs_may_load_what_a_login_node_has_not(frozen_on):
    containers = frozen_on(site())
    assert containers.engine is None
    (image,) = containers.images
    assert image.name == "mine.sif"
    assert len(image.sha256) == 64


def test_this_machine_needs_it(frozen_on):
    with pytest.raises(MissingPart, match="not on PATH"):
        frozen_on(None)
