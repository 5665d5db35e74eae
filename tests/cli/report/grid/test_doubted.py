"""Points whose result a stage doubts are marked wherever they stand."""

import io
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.terminal import summary_of
from pyscale.report.write import write_report

CODE = "bright-outside=9/10"


@pytest.fixture
def doubted(thin):
    """The smallest image on the CPU is not of what the model is for."""
    (grid,) = thin.every(GridFindings)
    is_it = (pl.col("length_px") == 224) & (pl.col("device") == "cpu")
    points = grid.points.with_columns(
        result_doubted=is_it,
        warnings=pl.when(is_it).then(pl.concat_list(pl.lit(CODE))),
    )
    return replace(thin, kinds=(replace(grid, points=points),))


def test_the_terminal_marks_the_row(doubted):
    out = io.StringIO()
    Console(file=out, width=100).print(summary_of(doubted))
    assert out.getvalue().count("CPU !") == 1


@pytest.mark.slow
def test_the_count_of_objects_is_marked_in_the_report(doubted, tmp_path):
    write_report(tmp_path, doubted)
    text = (tmp_path / "scaling_analysis.md").read_text()
    assert len([line for line in text.splitlines() if CODE in line]) == 1
    (row,) = (line for line in text.splitlines() if "(doubted)" in line)
    assert " (doubted) | " in row
    assert text.count("(doubted)") == 1
    assert pl.read_csv(tmp_path / "benchmark_points.csv")["result_doubted"].sum() == 1
    assert CODE in (tmp_path / "report.html").read_text()
