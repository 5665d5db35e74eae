"""`pyscale suites` and `pyscale runs`, and how a run is named on the command line."""

import json
from pathlib import Path

import pytest

from commandline import answer_of
from mockruns import carry_out
from pyscale.errors import UserError
from pyscale.planning.suite import load_suite, suite_names
from pyscale.store.folder import PLAN_FILE, RunFolder, find_run
from refusals import refused


@pytest.fixture
def make_run(make, tmp_path, monkeypatch):
    """Make a run of an id in the folder of the runs."""
    monkeypatch.chdir(tmp_path)

    def made(run_id):
        return RunFolder.create(Path("runs"), make().model_copy(update={"run_id": run_id}))

    return made


def test_each_suite_is_listed_with_its_summary(capsys):
    said = answer_of(capsys, "pyscale", "suites")
    for name in suite_names():
        assert f"{name} {load_suite(name).summary}" in said.text
    assert "pyscale run PATH.toml" in said.err


def test_a_suite_is_shown_with_each_parameter_of_its_stages(capsys):
    said = answer_of(capsys, "pyscale", "suites", "device_as_published")
    assert "segment.min_size_px 15" in said.text
    # What the suite sets, and not the stage's own default.
    assert 'segment.model "cyto3"' in said.text
    assert "segment.length_px 224, 448," in said.text
    answer = answer_of(capsys, "pyscale", "suites", "pipelin")
    assert (answer.code, "pipeline" in answer.err) == (2, True)


def test_runs_are_listed_with_the_newest_first(capsys, make_run):
    make_run("20260101T000000Z-aaaa")
    run = make_run("20260102T000000Z-bbbb")
    carry_out(run)
    broken = make_run("20260103T000000Z-cccc")
    (broken.path / PLAN_FILE).write_text("{")
    rows = json.loads(answer_of(capsys, "pyscale", "runs", "--json").out)
    assert [(row["run_id"][-4:], row["state"]) for row in rows] == [
        ("cccc", None),
        ("bbbb", "complete"),
        ("aaaa", "planned"),
    ]
    assert rows[1]["data"] == "cancer-migration"
    shown = answer_of(capsys, "pyscale", "runs").out.splitlines()
    assert [line.split()[0] for line in shown[2:]] == [row["run_id"] for row in rows]
    assert "unreadable" in shown[2]


def test_without_runs_the_folder_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no runs in runs" in answer_of(capsys, "pyscale", "runs").err


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (None, "bbbb"),
        ("latest", "bbbb"),
        ("aaaa", "aaaa"),
        ("20260101", "aaaa"),
        ("20260102T000000Z-bbbb", "bbbb"),
        ("runs/20260101T000000Z-aaaa", "aaaa"),
    ],
)
def test_a_run_is_found_by_any_of_its_names(make_run, name, found):
    make_run("20260101T000000Z-aaaa")
    make_run("20260102T000000Z-bbbb")
    assert find_run(Path("runs"), name).path.name.endswith(found)


@pytest.mark.parametrize("name", ["2026", "zzzz"])
def test_a_name_of_several_runs_or_none_is_refused(make_run, name):
    for run_id in ("20260101T000000Z-aaaa", "20260102T000000Z-bbbb"):
        make_run(run_id)
    with refused(UserError):
        find_run(Path("runs"), name)
