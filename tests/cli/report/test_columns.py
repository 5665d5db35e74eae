"""The dictionary of columns is of what the exporter writes, and docs/columns.md is made of it."""

import pytest

from atleastone import some
from describe_columns import PAGE, STORED, columns, meaning, page
from pyscale.report.csv import FILES, RARE_FILES, csv_texts
from pyscale.report.dictionary import WAYS, declarations, entry

TABLES = [*FILES, *RARE_FILES, *STORED.values()]


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python scripts/describe_columns.py"


def test_every_column_that_a_report_writes_is_described(full):
    for table, text in some(csv_texts(full).items()):
        assert text.split("\n")[0].split(",") == columns(table)


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_meaning(table):
    assert all(meaning(table, column) for column in some(columns(table)))


def test_nothing_is_declared_of_a_column_that_no_table_has():
    own = {table: columns(table) for table in TABLES}
    own["any"] = [name for names in own.values() for name in names]
    for table, declared in some(declarations().items()):
        assert table == "rows" or set(declared) <= set(own[table])


def test_every_declaration_is_one_that_a_report_can_read():
    for table, declared in some(declarations().items()):
        assert table == "rows" or all(entry(table, name).written in WAYS for name in declared)
