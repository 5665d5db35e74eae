"""`pyscale run validation`: a right installation, and what is said where something is not right."""

import json
import shutil
import tomllib

import pytest

from atleastone import some
from commandline import answer_here
from forkedtasks import forked_tasks
from pyscale.store.folder import RunFolder
from pyscale.store.records import RESULT_FILE
from pyscale.validation import judging
from pyscale.validation.judging import Expected, expected_file, load_expected
from renew_validation import renewed

pytestmark = pytest.mark.slow

COMPUTES = "This installation computes what it should"
STAGES = ["register_denoise", "segment", "contact", "track"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run in an empty folder without a network, and what it printed."""
    folder = tmp_path_factory.mktemp("validation")
    own = {"PYSCALE_MIRROR": folder / "none", "PYSCALE_DATA_FOLDER": folder / "data"}
    words = ("run", "validation", "--workers", "1,2", "--repeats", "1", "--set", "keep_outputs=all")
    with forked_tasks():
        ended = answer_here(folder, *words, **own)
    assert ended.code == 0, ended
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path), ended


@pytest.fixture(scope="module")
def run(finished):
    return finished[0]


@pytest.fixture
def copied(run, home):
    """A copy of it in the working folder, to be changed."""
    shutil.copytree(run.path, home / "runs" / run.path.name)
    return RunFolder(home / "runs" / run.path.name)


def told(run):
    return json.loads((run.report / "validation.json").read_bytes())


def test_a_right_installation_passes_at_every_n(finished):
    run, ended = finished
    assert ended.out.startswith(COMPUTES)
    found = told(run)
    assert [stage["entry"] for stage in found["stages"]] == STAGES
    assert {stage["verdict"] for stage in found["stages"]} <= {"identical", "right"}
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
        bounded = {*stage.at_least, *stage.at_most} - {"objects"}
        assert measured - of_data - same_here - of_two == bounded


def test_what_is_expected_can_be_renewed_from_the_run(run):
    text = expected_file("validation").read_text(encoding="utf-8")
    told = Expected.model_validate(tomllib.loads(renewed(text, run)))
    assert list(told.stages) == STAGES
    assert told.stages["segment"].at_least == load_expected("validation").stages["segment"].at_least


def test_a_wrong_output_ends_the_command_with_1_and_is_named(pyscale, copied, monkeypatch):
    monkeypatch.setattr(judging, "load_expected", lambda name: better(load_expected(name)))
    answer = pyscale("resume", copied.path.name)
    assert answer.code == 1
    assert "This installation does not compute what it should: segment gives wrong" in answer.text
    assert told(copied)["verdict"] == "wrong"


def better(expected):
    """Expect a segmentation that no model gives."""
    segment = expected.stages["segment"]
    changed = segment.model_copy(update={"at_least": segment.at_least | {"ap_iou50": 1.0}})
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
