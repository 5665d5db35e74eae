"""`pyscale report` says of which runs it reports."""

import re
import zipfile

import polars as pl
import pytest

from mockruns import carried_out
from pyscale import api
from pyscale.commands.reporting import report_runs
from pyscale.errors import UserError
from pyscale.evaluation.results import ReportOptions
from refusals import refused

pytestmark = pytest.mark.usefixtures("without_figures")


def test_markup_in_a_name_of_a_table_is_text_wherever_it_is_reported(tmp_path):
    name = '<img src=x onerror="alert(1)"> && <!-- \\<b>'
    quoted = name.replace('"', '""')
    table = tmp_path / "times.csv"
    table.write_text(f'stage,workers,wall_s\n"{quoted}",1,8\n"{quoted}",2,5\n')
    api.report(table=table, out=tmp_path / "out")
    text = (tmp_path / "out" / "scaling_analysis.md").read_text()
    assert not re.search("<[A-Za-z/!?]", text)
    assert "&lt;img src=x" in text
    assert "<img src=x" not in (tmp_path / "out" / "report.html").read_text()
    rows = pl.read_csv(tmp_path / "out" / "benchmark_results_aggregated.csv")
    assert set(rows["stage"]) == {name}


def test_a_table_whose_file_name_would_be_a_formula_is_refused(tmp_path):
    table = tmp_path / "=1+1.csv"
    table.write_text("stage,workers,wall_s\na,1,8\n")
    with refused(UserError):
        api.report(table=table, out=tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "shown"),
    [((), False), (("none",), False), (("pycyto",), True), (("pycyto", "none"), False)],
)
def test_a_table_has_no_reference_by_the_name_of_its_stage(asked, shown, tmp_path):
    table = tmp_path / "times.csv"
    table.write_text("stage,workers,wall_s\nsegment,1,8\nsegment,2,5\n")
    api.report(table=table, out=tmp_path / "out", reference=asked)
    assert ("pyCyto" in (tmp_path / "out" / "report.html").read_text()) == shown


def test_an_unknown_reference_is_refused(tmp_path):
    table = tmp_path / "times.csv"
    table.write_text("stage,workers,wall_s\nsegment,1,8\n")
    with refused(UserError):
        api.report(table=table, out=tmp_path / "out", reference=("pycto",))


@pytest.mark.slow
def test_an_archive_has_the_report_as_it_is_and_what_it_tells_is_said(make, tmp_path, capsys):
    run = carried_out(make(only=("register_denoise",)), tmp_path)
    out, asked = tmp_path / "out", ReportOptions(references=("pycyto",))
    report_runs([str(run.path)], out, asked, archived=True)
    with zipfile.ZipFile(out / f"{run.path.name}.zip") as zipped:
        assert b"pyCyto" in zipped.read("report/report.html")
    said = " ".join(capsys.readouterr().err.split())
    assert "holds records and report as they are" in said
    assert "use `pyscale reference add`" in said
