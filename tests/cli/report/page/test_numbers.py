"""Every number that is read on a page is the CSV's, and is written as the report writes it."""

import html
import json
import re
from typing import NamedTuple

import pytest

from atleastone import some
from browser.reports import MADE_UP, written
from pyscale.report import wording

OVER_N = ("full", "broken", "thin", "single", "weak", "table", "hostile")
"""Reports of stages over N; the others are of other kinds."""
TIED = re.compile(
    r'<data data-table="(.*?)" data-key="(.*?)" data-column="(.*?)" value="(.*?)">(.*?)</data>'
)
BESIDE = {"viewer", "machines"}
"""Tables that are held against files of their own."""
WRITERS = (
    wording.number,
    wording.coarse,
    wording.seconds,
    wording.growth,
    wording.ratio,
    wording.score,
    wording.percent,
    wording.gib,
    "{:g}".format,
    "{:.0f}".format,
)
WRITTEN = {
    "wall_s": (wording.number,),
    "speedup": (wording.ratio, wording.number),
    "efficiency": (wording.ratio, wording.number),
    "peak_rss_bytes": (wording.gib, wording.number),
    "worker_seconds": (wording.seconds, wording.number),
    "overlap": (wording.percent, wording.number),
    "agreement": (wording.score, wording.number),
}
OF_GRIDS = {
    "ratio": (wording.ratio,),
    "steady_s": (wording.number,),
    "share": (wording.percent,),
}
"""How some columns must be written, wherever they stand."""
MACHINE = ((1e3, 1e6, 1e9, 1e12, 1e-3), ("{:.2g}".format,))
LOADING = ((1e3, 1e6, 1e-3), ())
RANKS = ((1e-3,), ("{:+.2f}".format, lambda value: f"{100 * value:.2g} %"))
OF_KINDS = {
    **dict.fromkeys(("points", "ratios", "parts"), ((), ())),
    **dict.fromkeys(("tests", "nodes"), MACHINE),
    **dict.fromkeys(("loader", "loader_ranks"), LOADING),
    **dict.fromkeys(("reconstruct", "reconstruct_points"), RANKS),
}
"""What numbers of tables may be divided by to have the unit beside them, and more ways to write."""
WANTED = {
    "points": (lambda _: True, ("steady_s", "first_s", "start_s")),
    "ratios": (lambda row: row["measure"] == "steady", ("ratio_low",)),
    "tests": (lambda row: row["kind"] == "kernels" and row["wall_s"], ("wall_s",)),
    "loader": (
        lambda row: row["patches_per_s"],
        ("patches_per_s", "inferred_per_s", "wait_p99_s", "effective_slides"),
    ),
}
"""Columns of those rows of a table that must be on the page."""


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


@pytest.fixture(scope="module")
def there(numbers):
    return {(one.table, one.key, one.column) for one in numbers}


def test_every_number_is_the_one_of_its_place_in_the_csv(report, numbers):
    tables = {name: report.rows(name) for name in {one.table for one in numbers}}
    assert tables
    for one in numbers:
        assert float(one.value) == float(tables[one.table][one.key][one.column]), one


def test_every_number_is_written_as_the_report_writes_it(name, numbers):
    for one in some(numbers):
        exact = json.loads(one.value)
        column = one.column.removesuffix("_low").removesuffix("_high")
        only = WRITTEN if name in OVER_N else OF_GRIDS if name == "grid" else {}
        scales, more = OF_KINDS.get(one.table, ((), ()))
        given = (exact, *(exact / scale for scale in scales))
        told = {write(value) for value in given for write in only.get(column, (*WRITERS, *more))}
        assert one.text.strip() in told | {str(exact)}, one


def test_what_was_timed_or_found_is_there(name, report, there):
    for table, (is_wanted, columns) in WANTED.items():
        rows = report.rows(table) if report.file(table).exists() else {}
        for key, row in rows.items():
            if is_wanted(row):
                assert {(table, key, column) for column in columns} <= there
    if name not in OVER_N:
        return
    timed = {key: row for key, row in report.rows("configurations").items() if row["wall_s"]}
    assert timed
    for key, row in timed.items():
        wanted = {"wall_s", "workers"}
        compared = {"speedup", "efficiency"}
        if row["invalid"] == "false":
            wanted |= compared
            wanted |= {column for column in ("wall_s_low", "speedup_high") if row[column]}
        else:
            assert compared.isdisjoint(column for _, own, column in there if own == key)
        assert {("configurations", key, column) for column in wanted} <= there
    for key, row in report.rows("losses").items():
        if wording.seconds(float(row["worker_seconds"])) != "0":
            assert ("losses", key, "worker_seconds") in there


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
