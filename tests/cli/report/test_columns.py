"""The dictionary of columns is of what the exporter writes, and docs/columns.md is made of it."""

import polars as pl
import pytest

import madeupgrid
import madeuploader
import madeupmachine
import madeupreconstruct
from atleastone import some
from browser.reports import KEYS
from describe_columns import PAGE, STORED, columns, meaning, page
from pyscale.report.csv import FILES, RARE_FILES, csv_texts, write_csv
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


KINDS = {
    "grid": madeupgrid.made_up,
    "machine": lambda: madeupmachine.made_up(3),
    "loader": lambda: madeuploader.made_up(madeuploader.consuming(500.0)),
    "reconstruct": madeupreconstruct.made_up,
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def results(kind):
    return KINDS[kind]()


@pytest.fixture(scope="module")
def tables(results):
    found = {name: table for one in results.kinds for name, table in one.tables.items()}
    return {name: table for name, table in found.items() if not table.is_empty()}


def test_it_has_tables_more_and_a_later_report_without_it_none(results, tables, full, tmp_path):
    write_csv(tmp_path, results)
    for name, table in some(tables.items()):
        assert pl.read_csv(tmp_path / RARE_FILES[name]).height == table.height
    write_csv(tmp_path, full)
    assert not any((tmp_path / file).exists() for file in some(RARE_FILES.values()))


def test_columns_that_name_a_row_name_one(tables):
    for name, table in some(tables.items()):
        assert not table.select(KEYS[name]).is_duplicated().any()
