"""What the page gives to scripts is what the report's files hold."""

import csv
import json

import pytest

from atleastone import some
from browser.drawn import downloaded
from pyscale.report.csv import files_of

REPORTS = ("full",)


@pytest.fixture
def page(report, visit):
    """A page of its own for each test: Chromium lets one give only some files."""
    return visit(report.page)


def given(page, file):
    """Bytes of the file of this name, from its button."""
    name, found = downloaded(page, f"main button[data-file='{file}']")
    assert name == file
    return found


def test_every_table_comes_as_the_very_file_of_the_report(page, report):
    for table, file in some(files_of(report.results).items()):
        assert given(page, file) == report.file(table).read_bytes()


def test_every_table_as_json_holds_what_the_file_holds(page, report):
    for table, file in some(files_of(report.results).items()):
        found = json.loads(given(page, file.replace(".csv", ".json")))
        with report.file(table).open(encoding="utf-8", newline="") as rows:
            same_rows(found, list(csv.DictReader(rows)))
        # Whole seconds, as in a made-up trial, are whole numbers there.
        if (report.folder.name, table) == ("full", "configurations"):
            for row in found:
                assert isinstance(row["wall_s"], float)
                assert isinstance(row["workers"], int)
                assert isinstance(row["invalid"], bool)
                assert isinstance(row["stage"], str)


def same_rows(found, wanted):
    """Compare rows of JSON with those of a CSV, value by value."""
    assert len(found) == len(wanted) > 0
    for own, row in zip(found, wanted, strict=True):
        assert own.keys() == row.keys()
        for column, text in row.items():
            value = own[column]
            if isinstance(value, bool) or value is None:
                assert text == {True: "true", False: "false", None: ""}[value]
            elif isinstance(value, str):
                assert value == text
            else:
                assert float(value) == float(text)
