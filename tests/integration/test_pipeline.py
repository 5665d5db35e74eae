"""The whole pipeline, for real: `pyscale run validation` with one and with two workers.

A right installation, what such a run leaves, and what is said where something is not right.
"""

import csv
import json
import shutil
import subprocess

import polars as pl
import pytest

from atleastone import some
from commandline import answer_in
from pyscale.store.folder import RunFolder
from pyscale.store.records import RESULT_FILE
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task
from pyscale.validation import ofrun
from pyscale.validation.expected import load_expected
from renew_validation import renewed

pytestmark = pytest.mark.slow

COMPUTES = "This installation computes what it should"
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
    """A run in an empty folder without a network, with figures, and what it printed."""
    folder = tmp_path_factory.mktemp("pipeline")
    own = {"PYSCALE_MIRROR": folder / "none", "PYSCALE_DATA_FOLDER": folder / "data"}
    few = ("--workers", "1,2", "--repeats", "1", "--cache", "cold", "--keep-outputs", "all")
    ended = answer_in(folder, "run", "validation", *few, COLUMNS=300, PYTHONPATH="", **own)
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


@pytest.fixture
def copied(run, home):
    """A copy of it in the working folder, to be changed."""
    shutil.copytree(run.path, home / "runs" / run.path.name)
    return RunFolder(home / "runs" / run.path.name)


def test_the_table_has_the_promised_columns_and_a_row_for_each_configuration(rows):
    assert list(rows) == [(stage, n) for stage in STAGES for n in (1, 2)]
    assert list(next(iter(rows.values())))[: len(PROMISED_COLUMNS)] == PROMISED_COLUMNS


def test_two_workers_compute_what_one_does(rows):
    assert {stage: float(rows[stage, 2]["agreement"]) for stage in STAGES} == dict.fromkeys(
        STAGES, 1.0
    )


@pytest.mark.parametrize(
    ("stage", "measure", "low", "high"),
    [
        ("register_denoise", "drift_error_px", 0.0, 1.0),
        ("segment", "ap_iou50", 0.85, 1.0),
        ("contact", "contact_recall", 0.8, 1.0),
        ("track", "link_precision", 0.95, 1.0),
        ("track", "link_recall", 0.9, 1.0),
    ],
)
def test_the_results_are_right(rows, stage, measure, low, high):
    for workers in (1, 2):
        assert low <= json.loads(rows[stage, workers]["quality"])[measure] <= high


def test_too_few_repeats_have_no_interval(rows):
    for row in some(rows.values()):
        assert row["wall_s_low"] == row["speedup_high"] == ""
        assert "few-repeats" in row["flags"]


def test_spans_of_a_task_cover_its_time(run):
    tables = build_tables(run)
    tasks, spans = tables.tasks, tables.spans
    covered = spans.group_by("trial", "task").agg(pl.col("wall_s").sum().alias("covered_s"))
    timed = tasks.filter(pl.col("verb") != "check").join(covered, on=["trial", "task"])
    assert timed.height == 4 * (1 + 2 + 1)
    timed = timed.with_columns((pl.col("wall_s") - pl.col("covered_s")).alias("outside_s"))
    assert timed["outside_s"].min() >= -1e-6
    # The best of the tasks alike: a busy machine may interrupt any one of them between two spans.
    alike = pl.when(pl.col("verb") == "run").then("stage").otherwise("verb")
    best = timed.group_by(alike.alias("kind")).agg(pl.col("outside_s").min())
    assert sorted(best["kind"]) == sorted([*STAGES, "merge"])
    # One per cent of a task of ten seconds.
    assert best["outside_s"].max() < 0.1


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


def test_the_terminal_shows_every_stage(finished):
    assert all(stage in finished[1].out for stage in STAGES)


def test_the_report_can_be_written_again_from_the_records(run):
    before = {path.name: path.read_bytes() for path in run.report.iterdir()}
    for path in [*run.report.iterdir(), run.path / "tasks.parquet", run.path / "spans.parquet"]:
        path.unlink()
    # A process of its own, which draws figures.
    assert answer_in(run.path.parents[1], "report", PYTHONPATH="").code == 0
    assert {path.name: path.read_bytes() for path in run.report.iterdir()} == before


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


def told(run):
    return json.loads((run.report / "validation.json").read_bytes())


def test_a_right_installation_passes_at_every_n(finished):
    run, ended = finished
    assert ended.out.startswith(COMPUTES)
    found = told(run)
    assert [stage["entry"] for stage in found["stages"]] == STAGES
    assert {stage["verdict"] for stage in found["stages"]} <= {"identical", "within tolerance"}
    assert {stage["trials"] for stage in found["stages"]} == {2}
    assert COMPUTES in (run.report / "scaling_analysis.md").read_text(encoding="utf-8")


def test_every_measure_of_the_checks_is_judged_but_what_the_data_alone_decide(run):
    of_data = {"drift_uncorrected_px"}
    same_here = {"drift_error_corner_max_px"}
    # Two cells divide: one more or fewer that is found changes a half, and says nothing.
    of_two = {"division_precision", "division_recall"}
    for entry, stage in some(load_expected("validation").stages.items()):
        path = run.task(run.plan.trial(f"{entry}-n1-b1"), "check") / RESULT_FILE
        measured = set(json.loads(path.read_bytes())["quality"])
        assert measured - of_data - same_here - of_two == set(stage.measures) - {"objects"}


def test_what_is_expected_can_be_renewed_from_the_run(run):
    found = renewed(load_expected("validation"), run)
    assert list(found.stages) == STAGES
    assert found.reference.machine


def test_a_wrong_output_ends_the_command_with_1_and_is_named(pyscale, copied, monkeypatch):
    monkeypatch.setattr(ofrun, "load_expected", lambda name: better(load_expected(name)))
    answer = pyscale("run", "--resume", copied.path.name)
    assert answer.code == 1
    assert "This installation does not compute what it should: segment gives wrong" in answer.text
    assert told(copied)["verdict"] == "wrong"


def better(expected):
    """Expect a segmentation that no model gives."""
    segment = expected.stages["segment"]
    perfect = segment.measures["ap_iou50"].model_copy(update={"value": 1.0})
    measures = segment.measures | {"ap_iou50": perfect}
    changed = segment.model_copy(update={"measures": measures})
    return expected.model_copy(update={"stages": expected.stages | {"segment": changed}})


def test_other_parameters_are_refused_before_anything_runs(pyscale, home, monkeypatch):
    monkeypatch.setenv("PYSCALE_STAGES", '{"segment": {"flow_threshold": 0.9}}')
    answer = pyscale("run", "validation")
    assert answer.code == 2
    assert "flow_threshold of segment is 0.9 instead of 0.4" in answer.err
    assert not (home / "runs").exists()


def test_a_stage_without_its_records_leaves_the_answer_open(pyscale, copied):
    for trial in copied.plan.trials:
        if trial.entry == "track":
            shutil.rmtree(copied.trial(trial))
    answer = pyscale("report", copied.path.name)
    assert "Validation without a verdict: track gave no output to judge" in answer.text
    assert told(copied)["verdict"] == "cannot say"
