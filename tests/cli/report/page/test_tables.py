"""The tables of the page: what stands in which row, and which are left out."""

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.page import tables
from pyscale.results import analysed


def found_in(results):
    return curves(results.configurations)


def test_a_table_of_which_nothing_is_known_is_left_out():
    import polars as pl

    table = pl.DataFrame({"stage": "segment", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    results = analysed(trials_from_wall_times(table), ReportContext(title="a table"))
    found = found_in(results)
    for table in (tables.waiting, tables.memory, tables.cache):
        assert table(found) is None
    assert tables.losses(found, results) is None


def test_without_any_record_there_is_no_table(new_run, results_from):
    results = results_from(new_run())
    assert tables.results(found_in(results)) is None
    assert tables.choices(found_in(results), results) is None
