import csv
import errno
import json
from dataclasses import replace

import polars as pl
import pytest

from asread import seen
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.evaluation.results import analysed
from pyscale.report import figures
from pyscale.report.context import ReportContext
from pyscale.report.csv import FILES, write_csv
from pyscale.report.markdown import write_markdown
from pyscale.report.write import write_report
from refusals import refused

A_RUN = ReportContext(title="a run")


def markdown_of(tmp_path, results):
    return write_markdown(tmp_path, replace(results, context=A_RUN)).read_text()


def test_a_report_is_the_files_that_users_know(tmp_path, thin, context, monkeypatch):
    def save(_plot, stem):
        """Leave empty figures: drawing takes most of the time of a report."""
        paths = [stem.with_suffix(f".{suffix}") for suffix in ("png", "svg", "pdf")]
        for path in paths:
            path.touch()
        return paths

    monkeypatch.setattr(figures, "save", save)
    written = write_report(tmp_path / "report", replace(thin, context=context))
    names = {*FILES.values(), "scaling_analysis.md", "report.html", "figure_captions.md"} | {
        f"benchmark_{name}.{suffix}"
        for name in ("speedup", "results", "losses")
        for suffix in ("png", "svg", "pdf")
    }
    assert {path.name for path in written} == names
    assert {path.name for path in (tmp_path / "report").iterdir()} == names


def test_the_csv_holds_the_configurations_at_full_precision(tmp_path, full, thin):
    write_csv(tmp_path, thin)
    # A second report replaces the first.
    path = write_csv(tmp_path, full)[0]
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == full.configurations.height
    for row, expected in zip(rows, full.configurations.iter_rows(named=True), strict=True):
        assert float(row["speedup"]) == expected["speedup"]
        assert json.loads(row["quality"]) == json.loads(expected["quality"])
        assert row["flags"] == ";".join(expected["flags"])
    assert rows[0]["speedup_low"] == ""


def test_a_bar_in_a_name_divides_no_row(tmp_path):
    table = pl.DataFrame({"stage": "a|b", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    text = markdown_of(tmp_path, analysed(trials_from_wall_times(table), A_RUN))
    assert "| a\\|b | 1 |" in text


def test_a_run_in_which_all_failed_is_reported_without_figures(tmp_path, new_run):
    builder = new_run().trial("track", [{"compute": 100.0}], failed=["w0"])
    written = write_report(tmp_path, builder.results())
    assert not any(path.suffix in {".png", ".svg", ".pdf"} for path in written)
    text = (tmp_path / "scaling_analysis.md").read_text()
    assert "`failed-trials` (track at N = 1): A trial failed" in text


def test_a_run_without_any_record_yet_is_an_empty_report(tmp_path, new_run):
    write_report(tmp_path, new_run().results())
    for file in FILES.values():
        assert (tmp_path / file).read_text().count("\n") == 1
    assert "No results: no trial has a record" in (tmp_path / "scaling_analysis.md").read_text()
    assert "No trial has a record" in seen((tmp_path / "report.html").read_text())


@pytest.mark.parametrize("place", ["file", "file/deeper", "/proc"])
def test_a_report_that_has_no_room_for_its_folder_is_one_sentence(tmp_path, thin, context, place):
    (tmp_path / "file").write_text("in the way")
    with refused(UserError):
        write_report(tmp_path / place, replace(thin, context=context))


def test_a_full_disk_is_not_mistaken_for_a_wrong_folder(tmp_path, thin, context, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(OSError, match="full"):
        write_report(tmp_path / "report", replace(thin, context=context))
