"""What the record of a task tells of its inputs."""

import math
import time
from pathlib import Path

import pytest

from pyscale_stages.contract import Agreement, Method, Slot, Stage, StageParams, TaskSpec
from pyscale_stages.errors import StageError
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.spans import SPAWN_VARIABLE, SpanRecorder
from pyscale_stages.registry import load_stage
from pyscale_stages.runner import run_task
from pyscale_stages.task import Task
from refusals import refused


class NoParams(StageParams):
    """None."""


def nothing(_task):
    """Do nothing."""


def same(_task):
    """Compare nothing."""
    return Agreement(same=True, identical=True, score=1, measure="none", tolerance=1)


def record_of(slot, path, output):
    """Input files that a stage with one input tells of, and the filesystems in its stamp."""
    stage = Stage(
        name="storage",
        summary="",
        params=NoParams,
        inputs=(slot,),
        output="out",
        packages=(),
        determinism="",
        run=nothing,
        merge=nothing,
        check=same,
        method=lambda _params: Method("nothing"),
    )
    spec = TaskSpec(stage="storage", inputs=((slot.name, path),), output=output)
    result = run_task(stage, spec, SpanRecorder(time.monotonic()), None)
    assert result.error is None
    return {
        "wall_s": result.wall_s,
        "files": result.counters.input_files,
        "probed": len(result.page_cache),
        "folders": [Path(found["path"]) for found in result.stamp["filesystems"]],
    }


def test_files_in_a_folder_that_is_measured_are_no_input(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "of-somebody-else").write_bytes(b"1234")
    place = record_of(Slot("place", "", is_place=True), folder, tmp_path / "out")
    assert (place["files"], place["probed"]) == (0, 0)
    assert folder in place["folders"]
    frames = record_of(Slot("frames", ""), folder, tmp_path / "out")
    assert (frames["files"], frames["probed"]) == (1, 1)


def test_files_of_images_that_are_folders_and_tiles_beside_a_slide_are_input(tmp_path):
    for name in ("a.zarr/0/0.0", "a.zarr/0/0.1", "a.zarr/.zattrs", "b.mrxs", "b/Data0.dat"):
        file = tmp_path / "slides" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"12345")
    slot = Slot("slides", "")
    for path, files in ((".", 5), ("a.zarr", 3), ("b.mrxs", 2)):
        found = record_of(slot, tmp_path / "slides" / path, tmp_path / "out")
        assert (found["files"], found["probed"]) == (files, files)


def test_looking_at_each_file_of_the_input_is_no_part_of_the_measured_time(tmp_path, monkeypatch):
    probe = pagecache.probe

    def slow(path):
        time.sleep(0.5)
        return probe(path)

    monkeypatch.setattr(pagecache, "probe", slow)
    monkeypatch.setenv(SPAWN_VARIABLE, str(time.monotonic()))
    (tmp_path / "frame.tif").write_bytes(b"1")
    assert record_of(Slot("frames", ""), tmp_path / "frame.tif", tmp_path / "out")["wall_s"] < 0.4


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_quality_that_is_no_number_fails_the_task_and_not_the_reading_of_its_record(value):
    stage = load_stage("contact")
    spec = TaskSpec(stage=stage.name, verb="check", inputs=())
    task = Task(stage, spec, stage.params(), SpanRecorder(time.monotonic()))
    with refused(StageError):
        task.set_quality(precision=1.0, recall=value)
    assert task.quality == {}
