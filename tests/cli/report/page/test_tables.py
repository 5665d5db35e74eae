"""The tables of the page: what stands in which row, and which are left out."""

from __future__ import annotations

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.page import tables
from pyscale.report.page.values import Value
from pyscale.results import analysed


def read(cell):
    """A cell as people read it."""
    return "".join(part.text if isinstance(part, Value) else part for part in cell)


def texts(table, name):
    """One column, by the name of the curve."""
    place = [column.name for column in table.columns].index(name)
    return {group.name: [read(line.cells[place]) for line in group.lines] for group in table.groups}


def found_in(results):
    return curves(results.configurations)


def test_results_have_a_row_for_each_configuration_with_its_interval(full):
    table = tables.results(found_in(full))
    row = full.configurations.filter(stage="segment", workers=8).row(0, named=True)
    assert texts(table, "N")["segment"] == ["1", "2", "4", "8"]
    assert texts(table, "Speedup")["segment"][3] == (
        f"{row['speedup']:.2f} [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]"
    )
    assert "Flags" not in table.header


def test_an_invalid_configuration_is_marked_and_not_compared(broken):
    table = tables.results(found_in(broken))
    track = next(group for group in table.groups if group.name == "track")
    assert [line.is_invalid for line in track.lines] == [False, False, True]
    assert texts(table, "Speedup")["track"][2] == "invalid"
    assert texts(table, "Efficiency")["track"][2] == "-"


def test_losses_stack_as_the_chart_does_and_leave_out_what_never_occurs(full):
    table = tables.losses(found_in(full), full)
    names = [column.name for column in table.columns]
    assert names[:3] == ["N", "N x wall time", "compute"]
    assert names[-1] == "idle"
    assert "container start" not in names
    idle = texts(table, "idle")["segment"]
    assert idle[0] == "0"
    assert "(+" in idle[3]


def test_the_choices_are_the_numbers_of_their_configuration(full):
    table = tables.choices(found_in(full), full)
    assert texts(table, "Objective")["contact"] == ["best value", "fastest"]
    assert texts(table, "N")["contact"] == ["4", "8"]
    assert texts(table, "Confidence")["contact"][0].startswith("sure (")


def test_the_state_of_the_page_cache_is_told_once_for_all_n(full):
    assert texts(tables.cache(found_in(full)), "at N =")["segment"] == ["1, 2, 4, 8"]


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
