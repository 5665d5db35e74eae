from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult

RunStage = Callable[..., TaskResult]
# No other stage is quicker.
QUICK = {"tests": ["triad"]}


@pytest.fixture
def outputs(run_stage: RunStage, tmp_path: Path) -> list[Path]:
    """Outputs of three workers, of which the last ones are given first."""
    folders = [tmp_path / f"worker{number}" for number in range(3)]
    for number, folder in enumerate(folders):
        done = run_stage(
            "kernels", output=folder, params=QUICK, frames=(number, number + 1), movie_frames=3
        )
        assert done.error is None
    return folders


def test_every_row_of_every_worker_is_kept_with_its_number(run_stage, outputs, tmp_path):
    merged = tmp_path / "merged"
    done = run_stage("kernels", *reversed(outputs), verb="merge", output=merged, params=QUICK)
    assert done.error is None
    table = pl.read_parquet(merged / "timings.parquet")
    for worker, folder in enumerate(outputs):
        part = pl.read_parquet(folder / "timings.parquet")
        assert table.filter(worker=worker).drop("worker").equals(part.drop("worker"))
    assert len(table) == 3 * len(part)
    window = json.loads((merged / "window.json").read_text())
    assert (window["frames"], window["movie_frames"]) == ([0, 3], 3)


def test_what_was_joined_can_be_joined_again(run_stage, outputs, tmp_path):
    for name, given in (("two", outputs[:2]), ("all", [tmp_path / "two", outputs[2]])):
        folder = tmp_path / name
        done = run_stage("kernels", *given, verb="merge", output=folder, params=QUICK)
        assert done.error is None
    table = pl.read_parquet(tmp_path / "all" / "timings.parquet")
    assert table["worker"].unique(maintain_order=True).to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("twice", "is given twice"),
        ("params", "was computed with other parameters"),
        ("stage", "is the output of kernels, not of decompress"),
        ("broken", "missing or damaged"),
        ("nothing", "at least one output of the workers"),
    ],
)
def test_what_cannot_be_joined_is_refused(run_stage, outputs, tmp_path, wrong, said):
    given = {"twice": [outputs[0], outputs[0]], "nothing": []}.get(wrong, outputs[:1])
    if wrong == "broken":
        (outputs[0] / "timings.parquet").write_bytes(b"no table")
    stage = "decompress" if wrong == "stage" else "kernels"
    params = {} if wrong == "stage" else QUICK | ({"launches": 6} if wrong == "params" else {})
    merged = tmp_path / "merged"
    error = run_stage(stage, *given, verb="merge", output=merged, params=params).error
    assert error is not None
    assert error.exit_code == 2
    assert said in error.message
