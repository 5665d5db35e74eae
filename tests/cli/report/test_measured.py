"""What a report says of numbers that stages measure."""

from dataclasses import replace

import polars as pl
import pytest

from asread import printed
from pyscale.analysis.measured import POINT_SCHEMA
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.sentences import worse
from pyscale.report.terminal import summary_of
from refusals import assert_said

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
