"""The whole pipeline, for real, with one and with two workers, and what such a run leaves."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from atleastone import some
from commandline import answer_in
from pyscale.report.figures import CAPTIONS
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

pytestmark = pytest.mark.smoke

PROMISED_COLUMNS = [
    "suite",
    "stage",
    "algorithm",
    "workers",
    "repeats",
    "wall_s",
    "wall_s_low",
    "wall_s_high",
    "speedup",
    "speedup_low",
    "speedup_high",
    "efficiency",
    "load_balance",
    "computation_scaling",
    "useful_share",
    "worker_seconds",
    "cache_state",
    "agreement",
    "quality",
    "flags",
]
STAGES = ["register_denoise", "segment", "contact", "track"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of four small frames without a network, with figures, and what it printed."""
    folder = tmp_path_factory.mktemp("pipeline")
    own = {"PYSCALE_MIRROR": folder / "none", "PYSCALE_DATA_FOLDER": folder / "data"}
    made = SynthParams(frames=4, height_px=96, width_px=96, cells=8, cell_types=1, seed=5)
    movie = shutil.copy(write_synthetic_movie(folder / "made", made) / "movie.ome.tif", folder)
    few = ("--workers", "1,2", "--repeats", "1", "--cache", "cold", "--set", "keep_outputs=all")
    words = ("run", "pipeline", "--data", movie, *few)
    ended = answer_in(folder, *words, COLUMNS=300, PYTHONPATH="", **own)
    assert ended.code == 0, ended
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path), ended


@pytest.fixture(scope="module")
def run(finished):
    return finished[0]


@pytest.fixture(scope="module")
def rows(run):
    with (run.report / "benchmark_results_aggregated.csv").open() as file:
        return {(row["stage"], int(row["workers"])): row for row in csv.DictReader(file)}


def test_the_table_has_the_promised_columns_and_a_row_for_each_configuration(rows):
    assert list(rows) == [(stage, n) for stage in STAGES for n in (1, 2)]
    assert list(next(iter(rows.values())))[: len(PROMISED_COLUMNS)] == PROMISED_COLUMNS


def test_two_workers_compute_what_one_does(rows):
    assert {stage: float(rows[stage, 2]["agreement"]) for stage in STAGES} == dict.fromkeys(
        STAGES, 1.0
    )


def test_spans_of_a_task_cover_its_time(run):
    tables = build_tables(run)
    tasks, spans = tables.tasks, tables.spans
    covered = spans.group_by("trial", "task").agg(pl.col("wall_s").sum().alias("covered_s"))
    timed = tasks.filter(pl.col("verb") != "check").join(covered, on=["trial", "task"])
    assert timed.height == 4 * (1 + 2 + 1)
    outside = 1 - pl.col("covered_s") / pl.col("wall_s")
    # The best of the tasks alike: a busy machine may interrupt any one of them between two spans.
    alike = pl.when(pl.col("verb") == "run").then("stage").otherwise("verb")
    best = timed.group_by(alike.alias("kind")).agg(outside.min().alias("share"))
    assert sorted(best["kind"]) == sorted([*STAGES, "merge"])
    assert best["share"].min() >= -1e-6
    assert best["share"].max() < 0.03


def test_every_result_carries_where_and_with_what_it_ran(run):
    for trial in some(run.plan.trials):
        for task in some(trial.tasks):
            record = read_task(run.task(trial, task)).result
            assert record.stamp["cpu"]["model"]
            assert record.stamp["kernel"]
            assert record.versions["numpy"]
            assert record.determinism


def test_inputs_were_proved_cold(rows):
    assert {row["cache_state"] for row in rows.values()} == {"verified-cold"}


def test_the_manifest_names_the_input_by_its_hash(run):
    manifest = json.loads((run.path / "provenance_manifest.json").read_text())
    (file,) = manifest["input"]["files"]
    assert len(file["sha256"]) == 64
    assert set(manifest["outputs"]) == set(STAGES)
    assert all(manifest["outputs"].values())


def test_the_report_can_be_written_again_from_the_records(run, pyscale, monkeypatch):
    drawn = {".png", ".svg", ".pdf", ".html"}
    # Captions come with figures, which are not drawn in this process.
    before = {
        path.name: path.read_bytes() for path in run.report.iterdir() if path.name != CAPTIONS
    }
    assert drawn <= {Path(name).suffix for name in before}
    for path in [*run.report.iterdir(), run.path / "tasks.parquet", run.path / "spans.parquet"]:
        path.unlink()
    monkeypatch.chdir(run.path.parents[1])
    assert pyscale("report").code == 0
    assert {path.name: path.read_bytes() for path in run.report.iterdir()} == {
        name: content for name, content in before.items() if Path(name).suffix not in drawn
    }


def test_a_stage_runs_alone_as_its_record_says(run, tmp_path):
    """The command line in the order gives the same bytes in whichever folder it runs."""
    trial = run.plan.trial("contact-n2-b1")
    folder = run.task(trial, "w1")
    order = read_task(folder).order
    subprocess.run(order.argv, cwd=tmp_path, check=True, capture_output=True)
    name = "contacts.parquet"
    assert (tmp_path / "out" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_status_of_a_finished_run_is_complete(run, pyscale, monkeypatch):
    monkeypatch.chdir(run.path.parents[1])
    said = {flag: pyscale("status", flag) for flag in ("--json", "--watch", "--log")}
    assert {answer.code for answer in said.values()} == {0}
    assert json.loads(said["--json"].out)["state"] == "complete"
    assert "complete" in said["--watch"].out
    assert "the run finished" in said["--log"].out
