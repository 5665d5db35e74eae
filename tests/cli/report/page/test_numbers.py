"""Every number that is read on a page is the CSV's, in the row of its configuration."""

import html
import re
from typing import NamedTuple

import pytest

from browser.reports import MADE_UP, written

OVER_N = ("full", "broken", "thin", "single", "weak", "table", "hostile")
"""Reports of stages over N; the others are of other kinds."""
TIED = re.compile(
    r'<data data-table="(.*?)" data-key="(.*?)" data-column="(.*?)" value="(.*?)">(.*?)</data>'
)
BESIDE = {"viewer", "machines"}
"""Tables that are held against files of their own."""


class Number(NamedTuple):
    """A number on the page, and where it says that it comes from."""

    table: str
    key: str
    column: str
    value: str
    text: str


@pytest.fixture(scope="module", params=MADE_UP)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def report(request, name, tmp_path_factory):
    folder = tmp_path_factory.mktemp(name)
    if name in {"full", "thin"}:
        return written(folder, request.getfixturevalue(name))
    return written(folder, MADE_UP[name](folder / "run"))


@pytest.fixture(scope="module")
def numbers(report):
    told = TIED.findall(report.page.read_text(encoding="utf-8"))
    found = [Number(*map(html.unescape, one)) for one in told]
    return [one for one in found if one.table not in BESIDE]


def test_every_number_is_the_one_of_its_place_in_the_csv(report, numbers):
    tables = {name: report.rows(name) for name in {one.table for one in numbers}}
    assert tables
    for one in numbers:
        assert float(one.value) == float(tables[one.table][one.key][one.column]), one


def test_a_number_stands_in_the_row_of_its_configuration(name, report):
    """Beside the right stage and N: a table that is sorted otherwise would mix them up."""
    if name not in OVER_N:
        return
    text = report.page.read_text(encoding="utf-8").partition("<main")[2].partition("</main>")[0]
    rows = re.findall(r'<tr [^>]*data-stage="([^"]*)"[^>]*>(.*?)</tr>', text, re.DOTALL)
    of_one_n = 0
    for stage, row in rows:
        own = [Number(*one) for one in TIED.findall(row)]
        workers = [one.text for one in own if one.column == "workers"]
        if len(workers) == 1:
            of_one_n += 1
            assert {tuple(one.key.split("|")[1:4:2]) for one in own} == {(stage, workers[0])}
    assert name != "full" or of_one_n > 40
