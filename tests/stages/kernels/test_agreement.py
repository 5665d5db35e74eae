from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult, Timing
from pyscale_stages.kernels.agreement import agreement_of
from pyscale_stages.kernels.tables import Placed, table_of

RunKernels = Callable[..., TaskResult]
FEW = {"tests": ["fft", "fsc_tight", "memory_single_linear10_max_D7", "transfers"]}


def row(test: str = "triad", repeat: int = 0, **changed: Any) -> Placed:
    details = {"checksum": 2.0, "error": 0.0, "tolerance": 0.1} | changed.pop("details", {})
    given = {"test": test, "repeat": repeat, "wall_s": 1.0, "details": details} | changed
    return Placed("cpu", Timing(**given))


def same(one: list[Placed], two: list[Placed]) -> bool:
    return agreement_of(table_of(one), table_of(two), identical=False).same


def test_two_runs_agree_about_results_though_their_times_differ(
    run_kernels: RunKernels, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        assert run_kernels(output=folder, params=FEW).error is None
    agreement = run_kernels("check", *folders, params=FEW).agreement
    assert agreement is not None
    assert agreement.same
    assert not agreement.identical
    assert agreement.details["compared_tests"] == 4


def test_another_seed_gives_other_results(run_kernels: RunKernels, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        run_kernels(output=folder, params=FEW, seed=seed)
    agreement = run_kernels("check", *folders, params=FEW).agreement
    assert agreement is not None
    assert not agreement.same


def test_times_do_not_count_and_checksums_do() -> None:
    reference = [row(), row(repeat=1)]
    assert same(reference, [row(wall_s=9.0), row(repeat=1, wall_s=0.1)])
    assert same(reference, [row(details={"checksum": 2.001})])
    assert not same(reference, [row(details={"checksum": 2.01})])
    assert not same(reference, [row(), row(repeat=1, details={"checksum": 2.01})])


def test_a_wrong_result_agrees_with_nothing() -> None:
    assert not same([row()], [row(details={"error": 0.2})])
    assert not same([row()], [row(), row(repeat=1, details={"error": 0.2})])
    without_error = Placed("cpu", Timing(test="triad", repeat=0, wall_s=1.0))
    assert not same([without_error], [without_error])


def test_a_test_that_does_not_apply_to_one_device_is_not_compared() -> None:
    absent = row("picking", wall_s=None, why_not="not applicable: no kernel", details={})
    assert same([row(), absent], [row(), row("picking")])
    assert not same([absent], [absent])


def test_a_test_that_failed_or_is_missing_is_a_difference() -> None:
    failed = row("picking", wall_s=None, why_not="memory ran out", details={})
    assert not same([row(), failed], [row(), row("picking")])
    assert not same([row()], [row(), row("picking")])


def test_merged_tables_hold_every_worker(run_kernels: RunKernels, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        run_kernels(output=folder, params=FEW)
    merged = tmp_path / "merged"
    assert run_kernels("merge", *folders, output=merged, params=FEW).error is None
    table = pl.read_parquet(merged / "timings.parquet")
    for worker, folder in enumerate(folders):
        part = pl.read_parquet(folder / "timings.parquet")
        assert table.filter(worker=worker).drop("worker").equals(part.drop("worker"))
    assert len(table) == 3 * len(part)
    again = tmp_path / "again"
    run_kernels("merge", merged, folders[0], output=again, params=FEW)
    assert set(pl.read_parquet(again / "timings.parquet")["worker"]) == {0, 1, 2, 3}
    assert run_kernels("check", folders[0], merged, params=FEW).agreement.same


@pytest.mark.parametrize("wrong", ["twice", "params", "broken", "nothing"])
def test_what_cannot_be_merged_is_refused(
    run_kernels: RunKernels, tmp_path: Path, wrong: str
) -> None:
    folder = tmp_path / "one"
    params: dict[str, Any] = {"tests": ["triad"]}
    run_kernels(output=folder, params=params)
    inputs = {"twice": [folder, folder], "nothing": []}.get(wrong, [folder])
    if wrong == "broken":
        (folder / "timings.parquet").write_bytes(b"no table")
    asked = params | {"launches": 6} if wrong == "params" else params
    error = run_kernels("merge", *inputs, output=tmp_path / "merged", params=asked).error
    assert error is not None
    assert error.exit_code == 2
    said = {
        "twice": "is given twice",
        "params": "other parameters",
        "broken": "cannot be read as a table of timings",
        "nothing": "at least one output",
    }
    assert said[wrong] in error.message


def test_details_are_json_so_that_every_test_may_have_its_own() -> None:
    table = table_of([row(details={"particles": 3.0})])
    assert json.loads(table["details"][0])["particles"] == 3
