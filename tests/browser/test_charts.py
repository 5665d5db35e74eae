"""What charts show is what the CSV files hold."""

import pytest

from browser.drawn import marks, place
from pyscale.report.curves import curves

REPORTS = ("full", "broken", "single", "weak", "table", "hostile")


def by_curve(report, table):
    """Rows of a CSV with the names of their curves."""
    names = {
        (curve.key["suite"], curve.key["stage"], curve.key["device"] or ""): curve.name
        for curve in curves(report.results.configurations)
    }
    rows = report.rows(table).values()
    return [(names[row["suite"], row["stage"], row["device"]], row) for row in rows]


def number(text):
    return float(text) if text else None


def test_the_speedup_chart_shows_every_valid_speedup_at_its_height(page, report):
    points = marks(page, "speedup", type="symbol", invalid=False)
    found = {(mark["curve"], mark["workers"]): mark for mark in points}
    rows = [
        (name, row)
        for name, row in by_curve(report, "configurations")
        if row["wall_s"] and row["invalid"] == "false"
    ]
    assert rows
    for name, row in rows:
        mark = found.pop((name, int(row["workers"])))
        assert mark["speedup"] == number(row["speedup"])
        assert mark["y"] == pytest.approx(place(page, "speedup", "y", mark["speedup"]))
    assert found == {}


def test_intervals_are_as_long_as_they_are(full, visit_once):
    page = visit_once(full.page)
    rules = marks(page, "speedup", type="rule")
    found = {(rule["curve"], rule["workers"]): rule for rule in rules}
    rows = [(name, row) for name, row in by_curve(full, "configurations") if row["speedup_low"]]
    assert len(rows) >= 8
    for name, row in rows:
        rule = found[name, int(row["workers"])]
        assert rule["shown_low"] == number(row["speedup_low"])
        assert rule["shown_high"] == number(row["speedup_high"])


def test_an_invalid_configuration_is_a_cross_and_no_point(broken, visit_once):
    page = visit_once(broken.page)
    crosses = marks(page, "speedup", curve="track", workers=4, type="symbol")
    assert [mark["invalid"] for mark in crosses] == [True]
