"""Every number that is read on the page is the CSV's."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from pyscale.report import wording

REPORTS = ("full", "broken", "thin", "single", "weak", "table", "hostile")
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
    "wall_s": wording.number,
    "speedup": wording.ratio,
    "efficiency": wording.ratio,
    "peak_rss_bytes": wording.gib,
    "worker_seconds": wording.seconds,
    "overlap": wording.percent,
    "agreement": wording.score,
}
"""How some columns must be written, wherever they stand."""

READ = """
() => [...document.querySelectorAll(
  "data[data-table]:not([data-table=viewer]):not([data-table=machines])"
)].map(found => ({
  table: found.dataset.table, key: found.dataset.key, column: found.dataset.column,
  value: found.getAttribute("value"), text: found.textContent,
}))
"""
LOOSE = r"""
() => [...document.querySelectorAll(
  "main section:not(#viewer):not(#machines) tr:not(.whole) td"
)].filter(cell => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("data").forEach(found => found.remove());
  return /^[\s\d.,\[\]()+-]*\d[\s\d.,\[\]()+-]*$/.test(copy.textContent);
}).map(cell => [...cell.closest("table").querySelectorAll("thead th")].at(
  cell.cellIndex - cell.parentElement.cells.length)?.innerText)
"""
"""Column names of cells in which a bare number stands that names no place in a CSV.

The sum over all stages stands in none.
"""


NO_COLUMNS = {"at N ="}
"""Where such a number may stand: the N that raise a flag."""


class Number(NamedTuple):
    """A number on the page, and where it says that it comes from."""

    table: str
    key: str
    column: str
    value: str
    text: str


def read(page):
    return [Number(**found) for found in page.evaluate(READ)]


def test_every_number_is_the_one_of_its_place_in_the_csv(page, report):
    tables = {name: report.rows(name) for name in ("configurations", "losses", "trials")}
    found = read(page)
    assert found
    wrong = [
        number
        for number in found
        if float(number.value) != float(tables[number.table][number.key][number.column])
    ]
    assert wrong == []


def test_every_number_is_written_as_the_report_writes_it(page):
    for number in read(page):
        exact = json.loads(number.value)
        writer = WRITTEN.get(number.column.removesuffix("_low").removesuffix("_high"))
        writers = WRITERS if writer is None else (writer, wording.number)
        told = {write(exact) for write in writers} | {str(exact)}
        assert number.text.strip() in told, number


def test_every_timed_configuration_is_there_with_its_time_and_speedup(page, report):
    found = {(number.key, number.column) for number in read(page)}
    timed = {key: row for key, row in report.rows("configurations").items() if row["wall_s"]}
    assert timed
    for key, row in timed.items():
        wanted = {"wall_s", "workers"}
        if row["invalid"] == "false":
            wanted |= {"speedup", "efficiency"}
            wanted |= {column for column in ("wall_s_low", "speedup_high") if row[column]}
        assert {(key, column) for column in wanted} <= found


def test_an_invalid_configuration_has_no_speedup_on_the_page(broken, visit_once):
    page = visit_once(broken.page)
    invalid = {k for k, row in broken.rows("configurations").items() if row["invalid"] == "true"}
    assert invalid
    compared = {n.key for n in read(page) if n.column in {"speedup", "efficiency"}}
    assert invalid.isdisjoint(compared)


def test_every_part_of_the_worker_seconds_is_there(page, report):
    found = {(number.key, number.column) for number in read(page) if number.table == "losses"}
    for key, row in report.rows("losses").items():
        if wording.seconds(float(row["worker_seconds"])) != "0":
            assert (key, "worker_seconds") in found


def test_no_table_has_a_number_that_names_no_place_in_a_csv(page):
    assert set(page.evaluate(LOOSE)) <= NO_COLUMNS


def test_a_number_stands_in_the_row_of_its_configuration(full, visit_once):
    """Beside the right stage and N: a table that is sorted otherwise would mix them up."""
    page = visit_once(full.page)
    rows = page.evaluate(
        """() => [...document.querySelectorAll("main tr[data-stage]")].map(row => ({
          stage: row.dataset.stage,
          keys: [...row.querySelectorAll("data")].map(found => found.dataset.key),
          workers: [...row.querySelectorAll("data[data-column=workers]")].map(n => n.textContent),
        })).filter(row => row.workers.length === 1)"""
    )
    assert len(rows) > 40
    for row in rows:
        assert row["keys"]
        for key in row["keys"]:
            assert key.split("|")[1] == row["stage"]
            assert key.split("|")[3] == row["workers"][0]


MACHINE = (("tests", "nodes", "headroom"), (1e3, 1e6, 1e9, 1e12, 1e-3), ("{:.2g}".format,))
OF_KINDS = {
    "grid": (("points", "ratios", "parts", "configurations"), (), ()),
    "machine": MACHINE,
    "machines": MACHINE,
    "loading": (("loader", "loader_ranks"), (1e3, 1e6, 1e-3), ()),
    "loadings": (("loader", "loader_ranks"), (1e3, 1e6, 1e-3), ()),
    "reconstruction": (
        ("reconstruct", "reconstruct_points"),
        (1e-3,),
        ("{:+.2f}".format, lambda value: f"{100 * value:.2g} %"),
    ),
}
"""Tables, what numbers may be divided by to have the unit beside them, and more ways to write."""
OF_GRIDS = {"ratio": wording.ratio, "steady_s": wording.number, "share": wording.percent}
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


@pytest.mark.parametrize("name", OF_KINDS)
def test_numbers_of_other_kinds_are_those_of_their_places_and_written_as_told(
    request, visit_once, name
):
    report = request.getfixturevalue(name)
    page = visit_once(report.page)
    names, scales, more = OF_KINDS[name]
    tables = {table: report.rows(table) for table in names if report.file(table).exists()}
    found = [one for one in read(page) if one.table in tables]
    for one in found:
        exact = json.loads(one.value)
        assert exact == float(tables[one.table][one.key][one.column]), one
        column = one.column.removesuffix("_low").removesuffix("_high")
        only = OF_GRIDS.get(column) if name == "grid" else None
        writers = (*WRITERS, *more) if only is None else (only,)
        given = (exact, *(exact / scale for scale in scales))
        told = {write(value) for value in given for write in writers}
        told |= set() if "loader" in tables else {one.value}
        assert one.text.strip() in told, one
    assert set(page.evaluate(LOOSE)) <= NO_COLUMNS
    there = {(one.table, one.key, one.column) for one in found}
    assert {table for table, _, _ in there} == set(tables)
    for table in WANTED.keys() & tables.keys():
        is_wanted, columns = WANTED[table]
        for key, row in tables[table].items():
            if is_wanted(row):
                assert {(table, key, column) for column in columns} <= there
