"""What a task in an image is given of this machine."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from mockruns import plan_of, site, small_movie
from pyscale.images.engine import Engine
from pyscale.planning.runsettings import step_asked_for
from pyscale.runtimes import starting
from pyscale.runtimes.starting import ApptainerRuntime
from pyscale.store.provenance import ImageFile
from pyscale_stages.contract import TaskSpec
from pyscale_stages.errors import MissingPart
from pyscale_stages.validarea import VALID_FILE

IMAGE = ImageFile(
    name="storage",
    path=Path("/images/storage.sif"),
    size_bytes=1,
    modified_ns=1,
    sha256="ab" * 32,
    locked=True,
    git_commit=None,
    labels={},
)


def mounts(spec, task):
    """What a task sees, and whether it can write there."""
    engine = Engine("apptainer", "1.4.5")
    runtime = ApptainerRuntime(engine, {"storage": IMAGE}, task.parent)
    argv = runtime.start(spec, task, "storage").argv
    lines = [text for flag, text in pairwise(argv) if flag == "--mount"]
    return {
        Path(fields[2].removeprefix("destination=")): "ro" not in fields
        for fields in csv.reader(lines)
    }


@pytest.fixture
def folders(tmp_path):
    made = {name: tmp_path / name for name in ("task", "place", "disk")}
    for folder in made.values():
        folder.mkdir()
    return made


def spec(folders, **fields):
    params = {"cache_folder": str(folders["disk"])}
    return TaskSpec(stage="storage", params=params, output=folders["task"] / "out", **fields)


def test_a_task_writes_into_the_folders_that_it_measures(folders):
    measuring = spec(folders, inputs=(("place", folders["place"]),))
    assert mounts(measuring, folders["task"]) == dict.fromkeys(folders.values(), True)


def test_links_of_others_in_a_measured_folder_lead_an_image_nowhere(folders, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.touch()
    (folders["place"] / "link").symlink_to(theirs)
    measuring = spec(folders, inputs=(("place", folders["place"]),))
    assert theirs not in mounts(measuring, folders["task"])


def test_what_joins_its_windows_can_write_nowhere_else(folders):
    window = folders["place"]
    joining = spec(folders, verb="merge", inputs=(("w0", window),))
    assert mounts(joining, folders["task"]) == {folders["task"]: True, window: False}


def test_a_rank_writes_where_all_meet_and_hears_by_which_network(tmp_path):
    for name in ("task", "slides", "meeting"):
        (tmp_path / name).mkdir()
    rank = TaskSpec(
        stage="loader",
        inputs=(("slides", tmp_path / "slides"),),
        output=tmp_path / "task" / "out",
        rank=1,
        ranks=2,
        meeting=tmp_path / "meeting" / "ranks",
    )
    assert mounts(rank, tmp_path / "task") == {
        tmp_path / "task": True,
        tmp_path / "slides": False,
        tmp_path / "meeting": True,
    }
    engine = Engine("apptainer", "1.4.5")
    start = ApptainerRuntime(engine, {"storage": IMAGE}, tmp_path).start(
        rank, tmp_path / "task", "storage"
    )
    assert "GLOO_SOCKET_IFNAME" in start.container.passed


def test_an_image_sees_which_pixels_the_camera_saw(tmp_path):
    task, frames, valid = (tmp_path / name for name in ("task", "frames.ome.tif", VALID_FILE))
    frames.touch()
    reading = TaskSpec(stage="contact", inputs=(("labels", frames),), output=task / "out")
    assert mounts(reading, task) == {task: True, frames: False}
    valid.touch()
    assert mounts(reading, task) == {task: True, frames: False, valid: False}


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
