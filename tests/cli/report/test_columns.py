"""The dictionary of columns is of what the exporter writes, and docs/columns.md is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscale.report.columns import MEANINGS, STORED, columns, meaning, page
from pyscale.report.csv import FILES, RARE_FILES, csv_texts

PAGE = Path(__file__).parents[3] / "docs" / "columns.md"
TABLES = [*FILES, *RARE_FILES, *STORED.values()]


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python -m pyscale.report.columns"


def test_every_column_that_a_report_writes_is_described(full):
    for table, text in csv_texts(full).items():
        assert text.split("\n")[0].split(",") == columns(table)


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_meaning(table):
    assert all(meaning(table, column) for column in columns(table))


def test_no_meaning_is_of_a_column_that_no_table_has():
    used = {name for table in TABLES for name in columns(table)}
    used |= {f"{table}.{name}" for table in TABLES for name in columns(table)}
    assert {line.split(": ")[0] for line in MEANINGS.strip().split("\n")} <= used
