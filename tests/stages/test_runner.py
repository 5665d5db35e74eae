"""What the record of a task tells of its inputs."""

from __future__ import annotations

import time
from pathlib import Path

from pyscale_stages.contract import Agreement, Method, Slot, Stage, StageParams, TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.runner import run_task
from pyscale_stages.task import Task


class NoParams(StageParams):
    """None."""


def nothing(_task: Task) -> None:
    """Do nothing."""


def same(_task: Task) -> Agreement:
    """Compare nothing."""
    return Agreement(same=True, identical=True, score=1, measure="none", tolerance=1)


def record_of(slot: Slot, path: Path, output: Path) -> dict[str, object]:
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
    assert folder in place["folders"]  # type: ignore[operator]
    frames = record_of(Slot("frames", ""), folder, tmp_path / "out")
    assert (frames["files"], frames["probed"]) == (1, 1)
