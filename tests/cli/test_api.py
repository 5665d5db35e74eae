"""pyscale from Python tells what its commands do."""

import json
from importlib import import_module

import polars as pl
import pytest

import pyscale
from commandline import answer_of
from mockruns import done_run
from pyscale.store.lock import run_lock
from pyscale.store.tables import TABLES

TIMES = "stage,workers,repeat,wall_s\nsegment,1,1,8\nsegment,2,1,5\nsegment,1,2,8\nsegment,2,2,5\n"
SIZES = "device,length_px,wall_s\ncpu,64,8\ncuda,64,5\ncpu,128,9\ncuda,128,6\n"
pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def done(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return done_run(tmp_path).path


def test_the_package_report_is_called_as_the_function_of_its_name(tmp_path):
    package = import_module("pyscale.report")
    with pytest.raises(pyscale.UserError, match=r"absent\.csv"):
        package(table=tmp_path / "absent.csv")
    with pytest.raises(AttributeError, match="module 'pyscale' has no attribute 'nothing'"):
        pyscale.nothing  # noqa: B018


def test_a_run_is_loaded_with_its_tables_and_answers_and_nothing_is_written(done, capsys):
    before = {*done.rglob("*")}
    for named in (None, "latest", done, done.name[-4:]):
        assert pyscale.load(named).folder == done
    run = pyscale.load(done)
    assert {*done.rglob("*")} == before
    assert run.aggregated["workers"].unique().to_list() == [1, 2]
    assert run.tables["trials"].equals(run.trials)
    assert run.records.keys() == TABLES.keys()
    assert run.tasks["trial"].n_unique() == len(run.trials)
    assert run.incomplete == ()
    told = json.loads(answer_of(capsys, "pyscale", "report", done, "--json").out)
    assert json.loads(json.dumps(run.answers)) == told
    assert told["files"].keys() == run.tables.keys()


def test_a_run_is_reported_and_advised_as_by_command(done, tmp_path, capsys):
    run = pyscale.report(done, out=tmp_path / "out")
    assert run.page == tmp_path / "out" / "report.html"
    rows = pl.read_csv(tmp_path / "out" / "benchmark_results_aggregated.csv")
    assert rows["speedup"].to_list() == run.aggregated["speedup"].to_list()
    said = answer_of(capsys, "pyscale", "advise", done, "--json").out
    assert pyscale.advise(run).model_dump_json(indent=1) + "\n" == said
    with run_lock(done):
        pyscale.report(run, out=tmp_path / "out")
    assert "is not finished: the report is of its trials so far" in capsys.readouterr().err


@pytest.mark.parametrize("text", [TIMES, SIZES])
def test_a_table_is_reported_too(text, tmp_path):
    table = tmp_path / "times.csv"
    table.write_text(text)
    told = pyscale.report(table=table, out=tmp_path / "out")
    assert told.page.is_file()
    assert (told.folder, told.incomplete, told.records) == (None, (), {})
    assert "times.csv" in repr(told)
    if text == TIMES:
        assert pyscale.advise(table=table).stages
    for refused in (lambda: pyscale.load(told), lambda: pyscale.advise("latest", table=table)):
        with pytest.raises(pyscale.UserError, match="table"):
            refused()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "name a suite to run"),
        ({"suite": "pipelin"}, "unknown suite 'pipelin'"),
        ({"suite": "pipeline", "worker": 2}, "worker"),
        ({"suite": "pipeline", "step": "cp {input} {output}"}, "leave out the suite pipeline"),
        ({"step": "cp {input} {output}", "split": "pages", "data": "a.tif"}, "split"),
        ({"suite": "pipeline", "data": "absent.tif"}, "absent.tif"),
    ],
)
def test_what_cannot_be_run_is_an_error_with_the_sentence_of_the_command(asked, said, tmp_path):
    with pytest.raises(pyscale.UserError, match=said):
        pyscale.run(runs_folder=tmp_path, **asked)
    assert [*tmp_path.iterdir()] == []
