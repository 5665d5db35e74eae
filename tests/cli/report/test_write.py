import csv
import errno
import json
from dataclasses import replace

import polars as pl
import pytest

from asread import printed, seen
from pyscale.analysis.measured import POINT_SCHEMA
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.evaluation.results import analysed
from pyscale.report import figures
from pyscale.report.context import ReportContext
from pyscale.report.csv import FILES, write_csv
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.sentences import warnings, worse
from pyscale.report.terminal import summary_of
from pyscale.report.write import write_report
from pyscale_stages.measured import Warned
from refusals import assert_said, refused

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


LEFT = Warned(
    code="unregistered-frames",
    text="were not moved: use `previous` & <care>",
    concerned=37,
    seen=48,
    doubts_result=True,
)
SLOW = Warned(code="slow-disk", text="the disk is slow")


@pytest.fixture
def warned(thin):
    """Results of which one stage warned, at every N."""
    is_it = pl.col("stage") == "register_denoise"
    text = json.dumps([one.model_dump() for one in (SLOW, LEFT)])
    trials = thin.trials.with_columns(warned=pl.when(is_it).then(pl.lit(text)))
    return replace(thin, trials=trials, configurations=configurations(trials))


def test_every_file_of_the_report_says_it_where_there_is_a_warning(tmp_path, warned, thin):
    page = write_page(tmp_path, warned).read_text()
    first_screen = page[page.index('id="verdict"') : page.index("</section>")]
    assert 'data-warning="unregistered-frames"' in first_screen
    assert "use <code>previous</code> &amp; &lt;care&gt;." in first_screen
    assert first_screen.index("37 of 48 frames") < first_screen.index('data-answer="speedup"')
    text = write_markdown(tmp_path, warned).read_text()
    assert "- **register_denoise, the result may be wrong**: 37 of 48 frames" in text
    write_csv(tmp_path, warned)
    table = pl.read_csv(tmp_path / "benchmark_results_aggregated.csv")
    codes = table.filter(stage="register_denoise")["warnings"]
    assert set(codes) == {"unregistered-frames=37/48;slow-disk"}
    assert warnings(thin.trials) == ()
    assert "data-warning" not in write_page(tmp_path, thin).read_text()
    assert "warned of" not in write_markdown(tmp_path, thin).read_text()


POINT = {
    "suite": "demo",
    "stage": "segment",
    "device": "cpu",
    "repeats": 6,
    "baseline_workers": 1,
    "name": "cells",
    "unit": "cells",
    "better": "higher",
    "means": "",
}
WORSE = "segment at N = 2: cells is 80.0 cells, 0.80 times that at N = 1; higher is better."


@pytest.fixture
def measured(full):
    """Cells at N = 1, and fewer at N = 2."""
    at = [(1, 100.0, 1.0, None), (2, 80.0, 0.8, True)]
    rows = [
        POINT
        | {"workers": workers, "value": value, "value_low": value - 1, "value_high": value + 1}
        | {"over_baseline": over, "worse": worse}
        for workers, value, over, worse in at
    ]
    return replace(full, measured=pl.DataFrame(rows, POINT_SCHEMA, orient="row"))


def test_numbers_have_a_table_and_what_gets_worse_a_sentence(measured, full, tmp_path):
    text = write_markdown(tmp_path, measured).read_text()
    section = text.partition("\n## Measured by stages\n")[2].partition("\n## ")[0]
    assert "| segment | cells | 2 | 6 | 80.0 [79.0, 81.0] | cells | 0.80 | higher |" in section
    assert f"\n{WORSE}\n" in section
    page = write_page(tmp_path, measured).read_text()
    assert '<section id="measures">' in page
    text = printed(summary_of(measured))
    assert WORSE in " ".join(text.split())
    assert "Numbers that stages measure" not in write_markdown(tmp_path, full).read_text()
    assert '<section id="measures">' not in write_page(tmp_path, full).read_text()


def test_a_number_that_was_zero_at_the_baseline_is_said_to_be_worse_without_a_ratio(measured):
    changed = measured.measured.with_columns(better=pl.lit("lower"), over_baseline=None)
    assert_said(*worse(changed))
