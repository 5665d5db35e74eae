"""The viewer as a table."""

import polars as pl
import pytest

from pyscale.report.viewer.build import SideBySide, comparison_table
from pyscale.report.viewer.sources import beside_references, source_of
from pyscale.report.viewer.stages import LAYOUT, viewer

KEY = ("side", "stage", "device", "workers", "part")


def test_it_has_every_number_that_the_viewer_shows(two_runs):
    table = comparison_table(two_runs, LAYOUT)
    rows = {
        "|".join("" if value is None else str(value) for value in (row[name] for name in KEY)): row
        for row in table.to_dicts()
    }
    shown = viewer(two_runs)
    for row in shown.rows:
        for column, cell in zip(shown.columns, row.cells, strict=True):
            assert cell is not None
            own = rows[row.key(column.id)]
            for name in ("wall_s", "wall_s_low", "wall_s_high", "percent", "repeats"):
                assert own[name] == getattr(cell, name)
            against = cell.speedups[0]
            assert own["speedup"] == (against.value if against else None)
            assert own["speedup_low"] == (against.low if against else None)


def test_times_of_a_run_are_those_of_its_own_table(full):
    table = comparison_table(beside_references(full), LAYOUT)
    whole = table.filter(pl.col("part").is_null(), pl.col("stage").is_not_null())
    columns = ["stage", "device", "workers", "repeats", "wall_s", "wall_s_low", "wall_s_high"]
    own = full.configurations.select(columns).sort("stage", "workers")
    assert whole.select(columns).sort("stage", "workers").equals(own)


def test_verdicts_stand_with_the_runs_that_are_judged(two_runs):
    table = comparison_table(two_runs, LAYOUT)
    judged = table.drop_nulls("verdict")
    assert set(judged["side"]) == {"B"}
    assert set(judged["verdict"]) == {"worse"}
    assert judged.height == 16
    for row in judged.to_dicts():
        assert row["ratio"] == pytest.approx(1 / row["speedup"])


def test_of_three_runs_each_is_judged_against_the_first_alone(full, slower):
    runs = (full, slower, full)
    table = comparison_table(
        SideBySide.of([source_of(run, alike=frozenset({"movie"})) for run in runs]), LAYOUT
    )
    judged = table.drop_nulls("verdict").group_by("side").agg(pl.col("verdict").unique(), pl.len())
    assert sorted(judged.rows()) == [("B", ["worse"], 16), ("C", ["same"], 16)]


def test_alone_or_beside_a_reference_nothing_is_judged(full, with_reference):
    alone = comparison_table(beside_references(full), LAYOUT)
    beside = comparison_table(with_reference(work_id="same"), LAYOUT)
    for table in (alone, beside):
        assert table["verdict"].null_count() == table.height
    assert alone.columns == beside.columns
    assert set(beside["side"]) == {"A", "B"}
