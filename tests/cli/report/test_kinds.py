"""What reports of every kind of work beside stages over N have in common."""

import polars as pl
import pytest

import madeupgrid
import madeuploader
import madeupmachine
import madeupreconstruct
from atleastone import some
from browser.reports import KEYS
from pyscale.report.csv import RARE_FILES, write_csv

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
