from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult
from pyscale_stages.storage.agreement import agreement_of, results

RunStorage = Callable[..., TaskResult]
Timings = Callable[[Path], pl.DataFrame]
FAST = {"modes": ["warm"], "readers": [1], "movie_formats": ["mrc"]}


@pytest.fixture
def outputs(run_storage: RunStorage, place: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Outputs of two workers that measured the same."""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        assert run_storage("run", place, output=folder, **FAST).error is None
    return folders


def test_two_runs_with_one_seed_read_the_same(
    run_storage: RunStorage, outputs: tuple[Path, Path]
) -> None:
    agreement = run_storage("check", *outputs, **FAST).agreement
    assert agreement is not None
    assert agreement.same
    assert not agreement.identical, "times differ"
    assert agreement.details["tests_in_one"] == 0
    assert agreement.details["compared_checksums"] >= 5


def test_another_seed_gives_other_particles(
    run_storage: RunStorage, outputs: tuple[Path, Path], place: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run_storage("run", place, output=other, seed=1, **FAST)
    agreement = run_storage("check", outputs[0], other, **FAST).agreement
    assert agreement is not None
    assert not agreement.same
    assert agreement.details["different_checksums"] >= 5


def test_a_test_that_one_machine_cannot_run_is_no_disagreement(
    outputs: tuple[Path, Path], timings: Timings
) -> None:
    table = timings(outputs[0])
    cannot = table.with_columns(
        pl.when(pl.col("test") == "parallel_read_warm")
        .then(None)
        .otherwise(pl.col(name))
        .alias(name)
        for name in ("wall_s", "checksum_crc32")
    )
    agreement = agreement_of(results(table), results(cannot), identical=False)
    assert agreement.same
    assert agreement.details["ran_in_both"] == len(results(table).filter("ran")) - 1


def test_a_test_that_only_one_output_has_is_a_disagreement(
    outputs: tuple[Path, Path], timings: Timings
) -> None:
    table = results(timings(outputs[0]))
    agreement = agreement_of(
        table, table.filter(pl.col("test") != "metadata_stat"), identical=False
    )
    assert not agreement.same
    assert agreement.details["tests_in_one"] == 1


def test_tables_of_workers_are_joined_and_say_whose_rows_they_are(
    run_storage: RunStorage, outputs: tuple[Path, Path], timings: Timings, tmp_path: Path
) -> None:
    merged = tmp_path / "merged"
    assert run_storage("merge", *outputs, output=merged, **FAST).error is None
    table = timings(merged)
    for worker, folder in enumerate(outputs):
        part = table.filter(pl.col("worker") == worker).drop("worker")
        assert part.equals(timings(folder).select(part.columns))
    assert "worker" in pl.read_parquet(merged / "residency.parquet").columns
    window = json.loads((merged / "window.json").read_text())
    assert window["stage"] == "storage"
    agreement = run_storage("check", outputs[0], merged, **FAST).agreement
    assert agreement is not None
    assert agreement.same


def test_workers_with_other_parameters_are_not_joined(
    run_storage: RunStorage, outputs: tuple[Path, Path], place: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run_storage("run", place, output=other, **FAST, small_files=8)
    error = run_storage("merge", outputs[0], other, output=tmp_path / "merged", **FAST).error
    assert error is not None
    assert f"{other} was measured with other parameters" in error.message


def test_a_damaged_table_is_told(run_storage: RunStorage, outputs: tuple[Path, Path]) -> None:
    (outputs[1] / "timings.parquet").write_bytes(b"no table")
    error = run_storage("check", *outputs, **FAST).error
    assert error is not None
    assert error.exit_code == 2
    assert "timings.parquet is missing or damaged" in error.message
